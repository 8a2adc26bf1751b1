/** The part of highlight.js that is used: its own types bring in those of a browser, which then count for the whole project. */
declare const highlight: {
  highlight(code: string, options: { language: string; ignoreIllegals?: boolean }): { value: string };
  getLanguage(name: string): object | undefined;
};
// oxlint-disable-next-line import/no-default-export
export default highlight;
