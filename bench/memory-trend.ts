/** Memory of everything at one moment, or another figure that must not grow. */
export type MemorySample = { atMs: number; bytes: number }

/** Growth over the judged part that is still called flat: of the level, and in any case. */
const FLAT_SHARE = 0.15
const FLAT_BYTES = 64 * 2 ** 20

/**
 * The straight line through the last two thirds of the samples (least squares): its height in the middle and what it
 * grows by from their first to their last. The first third is left out: caches fill, and browsers are not yet at the
 * size at which they are replaced. `flatBytes`: growth that is called flat in any case.
 */
export function trendOf(samples: readonly MemorySample[], flatBytes = FLAT_BYTES) {
  const judged = samples.slice(Math.floor(samples.length / 3))
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1)
  const middleMs = mean(judged.map(({ atMs }) => atMs))
  const levelBytes = mean(judged.map(({ bytes }) => bytes))
  let over = 0
  let under = 0
  for (const { atMs, bytes } of judged) {
    over += (atMs - middleMs) * (bytes - levelBytes)
    under += (atMs - middleMs) ** 2
  }
  const spanMs = (judged.at(-1)?.atMs ?? 0) - (judged[0]?.atMs ?? 0)
  const growthBytes = under === 0 ? 0 : (over / under) * spanMs
  const allowedBytes = Math.max(FLAT_SHARE * levelBytes, flatBytes)
  return { levelBytes, growthBytes, allowedBytes, isFlat: growthBytes <= allowedBytes }
}
