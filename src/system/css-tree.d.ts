/** The parts of css-tree that teddy uses; the package has no types. The parts load in a fifth of the time of the whole. */
declare module 'css-tree/parser' {
  interface CssError {
    message: string;
    line: number;
    column: number;
    offset: number;
  }
  export default function parse(
    text: string,
    options: {
      parseValue: boolean;
      parseRulePrelude: boolean;
      parseAtrulePrelude: boolean;
      onParseError: (error: CssError) => void;
    },
  ): unknown;
}

declare module 'css-tree/tokenizer' {
  export const tokenTypes: Record<string, number>;
  export function tokenize(text: string, onToken: (type: number, start: number, end: number) => void): void;
}
