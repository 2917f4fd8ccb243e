// Test support: what no server may read, for each of ours.

/**
 * Headers behind `POST / HTTP/1.1` and a Host, with a body that could be read in
 * two ways: one of them finds `smuggled`, a whole request, in it.
 */
export function ambiguousBodies(smuggled: string): Record<string, string> {
  return {
    'CL.TE': `Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'TE.CL': `Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n2e\r\n${smuggled}\r\n0\r\n\r\n`,
    'TE.TE, a coding nobody knows behind': `Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n\r\n0\r\n\r\n${smuggled}`,
    'TE.TE, a coding nobody knows before': `Transfer-Encoding: cow\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'chunked twice': `Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'chunked with a tab behind the name': `Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'chunked with a vertical tab': `Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'chunked in quotes': `Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n${smuggled}`,
    identity: `Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc${smuggled}`,
    xchunked: `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'two lengths': `Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    'the same length twice': `Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc${smuggled}`,
    'two lengths in one': `Content-Length: 0, ${smuggled.length}\r\n\r\n${smuggled}`,
    'a length with a sign': `Content-Length: +3\r\n\r\nabc${smuggled}`,
    'a negative length': `Content-Length: -1\r\n\r\nabc${smuggled}`,
    'a length in hex': `Content-Length: 0x3\r\n\r\nabc${smuggled}`,
    'a length with a space in it': `Content-Length: 0 3\r\n\r\nabc${smuggled}`,
    'a length beyond all numbers': `Content-Length: 99999999999999999999999\r\n\r\n${smuggled}`,
    'a folded length': `Content-Length:\r\n 3\r\n\r\nabc${smuggled}`,
    'a folded coding': `Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    'a folded header': `X-A: 1\r\n Content-Length: 3\r\n\r\nabc${smuggled}`,
    'a length behind a bare line feed': `X-A: 1\nContent-Length: 3\r\n\r\nabc${smuggled}`,
    'a length behind a bare return': `X-A: 1\rContent-Length: 3\r\n\r\nabc${smuggled}`,
    'headers ended by bare line feeds': `X-A: 1\n\n${smuggled}`,
    'a space before the colon': `Content-Length : 3\r\n\r\nabc${smuggled}`,
    'a NUL in a header': `X-A: a\0b\r\nContent-Length: 0\r\n\r\n${smuggled}`,
    'a header without a name': `: 3\r\n\r\n${smuggled}`,
    'a header without a colon': `Content-Length 3\r\n\r\n${smuggled}`,
    'a chunk size that is none': `Transfer-Encoding: chunked\r\n\r\nz\r\n\r\n${smuggled}`,
    'a chunk size in hex notation': `Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${smuggled}`,
    'a chunk size with a sign': `Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n${smuggled}`,
    'a chunk size beyond all numbers': `Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${smuggled}`,
    'a chunk that is longer than it says': `Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n${smuggled}`,
    'a chunk ended by a bare line feed': `Transfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n${smuggled}`,
    'a chunk size ended by a bare line feed': `Transfer-Encoding: chunked\r\n\r\n0\n\r\n${smuggled}`,
    'a chunk extension with a bare line feed': `Transfer-Encoding: chunked\r\n\r\n0;a\n\r\n\r\n${smuggled}`,
  }
}

/** Without a Host behind them. */
export const BAD_REQUEST_LINES: Record<string, string> = {
  'HTTP/2 without its preface': 'GET / HTTP/2.0',
  'a line break in the path': 'GET /a\r\nX: 1 HTTP/1.1',
  'a space in the path': 'GET /a b HTTP/1.1',
  'a tab instead of a space': 'GET\t/\tHTTP/1.1',
  'a NUL in the path': 'GET /a\0b HTTP/1.1',
  'a bare return': 'GET / HTTP/1.1\rX: 1',
  'no version': 'GET /',
  'a version to come': 'GET / HTTP/9.9',
  'another protocol': 'GET / SIP/2.0',
  'a method nobody knows': 'HELLO / HTTP/1.1',
  'the preface of HTTP/2': 'PRI * HTTP/2.0',
  'an authority alone': 'GET red.example:80 HTTP/1.1',
  'a scheme that is none of ours': 'GET ftp://red.example/ HTTP/1.1',
  'a file': 'GET file:///etc/passwd HTTP/1.1',
}
