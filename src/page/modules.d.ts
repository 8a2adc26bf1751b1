/** Both the build and vitest read a file with such a name as text. */
declare module '*?raw' {
  const text: string;
  // oxlint-disable-next-line import/no-default-export
  export default text;
}
