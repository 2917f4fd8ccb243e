import { median } from './figures.ts'

/** One turn: both versions were measured one after the other. */
export type Pair = { before: number; now: number }

export type Judgement = {
  /** `now` to `before`: the median over the turns, the least, and the most. */
  ratio: number
  least: number
  most: number
  isWorse: boolean
}

/** Less is better. More than this is worse. */
const MOST_RATIO = 1.05

/** Compares within each turn, so that a load that lasts longer than a turn counts for both versions alike. */
export function judge(pairs: readonly Pair[]): Judgement {
  if (pairs.length === 0) throw new Error('Nothing was measured')
  const ratios = pairs.map(({ before, now }) => now / before)
  const ratio = median(ratios)
  return { ratio, least: Math.min(...ratios), most: Math.max(...ratios), isWorse: ratio > MOST_RATIO }
}
