import { LRUCache } from 'lru-cache'
import { parseAccept } from './accept.ts'

export type Encoding = 'br' | 'gzip' | 'identity'

/** Preferred first when weights are equal. */
const OURS: readonly Encoding[] = ['br', 'gzip', 'identity']

/** The weight of an unnamed `identity`: acceptable, but below everything that is named. */
const LEAST = 0.0001

/**
 * Returns the acceptable encoding with the highest weight (RFC 9110, section 12.5.3). Falls back to `identity`, even if the
 * client refuses it: the answer is never 406.
 */
export function chooseEncoding(header: string | undefined, ours: readonly Encoding[] = OURS): Encoding {
  if (header === undefined) return 'identity'
  const accepted = parseAccept(header)
  const any = accepted.get('*')?.weight
  const weightOf = (encoding: Encoding): number => {
    const named = accepted.get(encoding)?.weight
    if (named !== undefined) return named
    if (encoding === 'identity') return any === 0 ? 0 : LEAST
    // An old name of gzip (section 8.4.1.3).
    const alias = encoding === 'gzip' ? accepted.get('x-gzip')?.weight : undefined
    return alias ?? any ?? 0
  }
  let best: Encoding = 'identity'
  let most = 0
  for (const encoding of ours) {
    const weight = weightOf(encoding)
    if (weight <= most) continue
    best = encoding
    most = weight
  }
  return best
}

const REMEMBERED = 1_000
/** Longer headers are read each time. */
const REMEMBERED_CHARS = 500

/** Chooses as `chooseEncoding` does, and remembers the result: clients send few different headers. */
export class EncodingChooser {
  readonly #seen = new LRUCache<string, Encoding>({ max: REMEMBERED })

  choose(header: string | undefined): Encoding {
    if (header === undefined) return 'identity'
    const found = this.#seen.get(header)
    if (found !== undefined) return found
    const encoding = chooseEncoding(header)
    if (header.length <= REMEMBERED_CHARS) this.#seen.set(header, encoding)
    return encoding
  }
}
