/** The part of highlight.js that teddy uses. Its own types pull in the browser's, which would apply to the whole project. */
declare const highlight: {
  highlight(code: string, options: { language: string; ignoreIllegals?: boolean }): { value: string };
  getLanguage(name: string): object | undefined;
};
// oxlint-disable-next-line import/no-default-export
export default highlight;
