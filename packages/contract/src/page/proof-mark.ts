/**
 * A request with this header asks a site for the proof of its name. An edge of ours that receives one does not answer for
 * the site: whoever registered the name here would prove himself.
 */
export const PROOF_HEADER = 'x-prepaint-proof'

/** 128 random bits. */
const MARK = /^[0-9a-f]{32}$/

/** Returns the mark that a request carries, or null. Cheap for requests without one. */
export function proofMarkOf(headers: {
  readonly [name: string]: string | string[] | undefined
}): string | null {
  const mark = headers[PROOF_HEADER]
  return typeof mark === 'string' && MARK.test(mark) ? mark : null
}
