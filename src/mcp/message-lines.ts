/** Messages of a client, one a line. The SDK ends the connection at a line that is too long; this refuses only the line. */
import { Transform } from 'node:stream';

/** The parts of a line that is too long in which its id may stand. */
const outerBytes = 1024;
const firstBytes = 4096;

/**
 * Passes on whole lines of up to `maxBytes`. Of a longer one no more than its beginning and its end are kept; when it has ended,
 * `onTooLong` gets the id of its request, or null if that stands somewhere in between.
 */
export function messageLines(maxBytes: number, onTooLong: (id: string | number | null) => void): Transform {
  let line = Buffer.allocUnsafe(firstBytes);
  let length = 0;
  let end = Buffer.alloc(0);
  const take = (piece: Buffer) => {
    const free = maxBytes - length;
    if (piece.length > free) end = Buffer.concat([end, piece.subarray(-outerBytes)]).subarray(-outerBytes);
    const kept = piece.subarray(0, Math.max(0, free));
    // Growing by doubling keeps the cost in step with the line, however small its pieces are.
    if (length + kept.length > line.length)
      line = Buffer.concat(
        [line.subarray(0, length)],
        Math.min(maxBytes, Math.max(2 * line.length, length + kept.length)),
      );
    kept.copy(line, length);
    length += piece.length;
  };
  const finish = (stream: Transform) => {
    if (length > maxBytes) onTooLong(findId(line.toString('utf8', 0, outerBytes), end.toString('utf8')));
    else if (length > 0) stream.push(line.subarray(0, length));
    line = Buffer.allocUnsafe(firstBytes);
    length = 0;
    end = Buffer.alloc(0);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let at = 0;
      for (let newline = chunk.indexOf('\n'); newline !== -1; newline = chunk.indexOf('\n', at)) {
        take(chunk.subarray(at, newline + 1));
        finish(this);
        at = newline + 1;
      }
      take(chunk.subarray(at));
      done();
    },
    flush(done) {
      finish(this);
      done();
    },
  });
}

const id = String.raw`"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,200}")`;
const plain = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"`;
const idFirst = new RegExp(String.raw`^\s*\{\s*(?:${plain}\s*,\s*){0,2}${id}\s*,`);
const idLast = new RegExp(String.raw`,\s*${id}\s*(?:,\s*${plain}\s*){0,2}\}\s*$`);

/** Finds it where clients write it, before the parameters or behind them. */
function findId(beginning: string, end: string): string | number | null {
  const found = (idFirst.exec(beginning) ?? idLast.exec(end))?.[1];
  return found === undefined ? null : (JSON.parse(found) as string | number);
}
