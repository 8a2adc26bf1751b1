/** isomorphic-git takes this for the global `Buffer`; browsers have none. */
export { Buffer } from 'buffer/index.js';
