import { LRUCache } from 'lru-cache'

export type Encoding = 'br' | 'gzip' | 'identity'

/** Preferred first when q-values are equal. */
const OURS: readonly Encoding[] = ['br', 'gzip', 'identity']

/** The acceptable encoding with the highest q-value (RFC 9110, section 12.5.3). Falls back to identity. */
export function chooseEncoding(header: string | undefined, ours: readonly Encoding[] = OURS): Encoding {
  if (header === undefined) return 'identity'
  const weights = weightsOf(header)
  const any = weights.get('*')
  const weightOf = (encoding: Encoding) =>
    weights.get(encoding) ?? (encoding === 'identity' ? (any === 0 ? 0 : 0.0001) : (any ?? 0))
  let best: Encoding = 'identity'
  let most = 0
  for (const encoding of ours) {
    const weight = weightOf(encoding)
    if (weight > most) [best, most] = [encoding, weight]
  }
  return best
}

export function createEncodingChoice(): (header: string | undefined) => Encoding {
  const seen = new LRUCache<string, Encoding>({ max: 1_000 })
  return (header) => {
    if (header === undefined) return 'identity'
    const found = seen.get(header)
    if (found !== undefined) return found
    const encoding = chooseEncoding(header)
    if (header.length <= 500) seen.set(header, encoding)
    return encoding
  }
}

function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const item of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim())
    const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    // Malformed weights count as a refusal.
    const weight = q === undefined ? 1 : /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0
    if (name !== '') weights.set(name === 'x-gzip' ? 'gzip' : name, weight)
  }
  return weights
}
