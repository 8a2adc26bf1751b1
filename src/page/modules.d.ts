/** The build and vitest both read a file as text where its name ends so. */
declare module '*?raw' {
  const text: string;
  // oxlint-disable-next-line import/no-default-export
  export default text;
}
