/** Derives the kind of content from the target's name. */

/** `code` includes data and configuration, that is, everything that a program reads. `prose` is everything unknown. */
export type FileKind = 'markdown' | 'prose' | 'code' | 'binary';

const markdown = new Set('md markdown mdx mdown mkd'.split(' '));
const binary = new Set(
  (
    'png jpg jpeg gif bmp ico icns webp avif heic tif tiff psd pdf zip gz tgz bz2 xz zst 7z rar tar jar war class ' +
    'exe dll so dylib a o obj lib bin wasm pyc woff woff2 ttf otf eot mp3 mp4 m4a aac flac ogg opus wav webm mov avi mkv ' +
    'sqlite sqlite3 db doc docx xls xlsx ppt pptx odt ods odp parquet npy npz pkl'
  ).split(' '),
);
const code = new Set(
  (
    'js mjs cjs jsx ts mts cts tsx vue svelte astro json jsonc json5 jsonl ndjson geojson webmanifest yaml yml toml ini ' +
    'cfg conf properties xml svg xsd xsl xslt html htm xhtml css scss sass less py pyi rb php pl pm lua r jl go rs c h cc ' +
    'cpp cxx hh hpp hxx m mm cs fs fsx vb java kt kts scala groovy gradle swift dart ex exs erl hrl hs elm clj cljs ml mli ' +
    'nim zig v d pas ada asm s sh bash zsh fish ps1 psm1 bat cmd sql graphql gql proto thrift tf tfvars hcl nix cmake mk ' +
    'dockerfile env csv tsv lock patch diff hbs ejs erb jinja j2 twig sol cu glsl vert frag wgsl'
  ).split(' '),
);
const codeNames =
  /^(?:dockerfile|containerfile|makefile|gnumakefile|rakefile|gemfile|jenkinsfile|vagrantfile|procfile)$/i;

export function fileKind(path: string): FileKind {
  const extension = extensionOf(path);
  if (markdown.has(extension)) return 'markdown';
  if (binary.has(extension)) return 'binary';
  return code.has(extension) || codeNames.test(fileName(path)) ? 'code' : 'prose';
}

/** Returns the extension in lower case and without the dot; empty when there is none. The extension of `.env` is `env`. */
export function extensionOf(path: string): string {
  const name = fileName(path);
  const dot = name.lastIndexOf('.');
  return dot === -1 ? '' : name.slice(dot + 1).toLowerCase();
}

export function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
