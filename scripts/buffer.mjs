/** What isomorphic-git takes for the global `Buffer`; browsers have none. */
export { Buffer } from 'buffer/index.js';
