import { setTimeout as delay } from 'node:timers/promises'

/** What is looked at of somebody who has been asked whether he lives. */
export type Asked = {
  /** Resolves when he has answered; rejects when there is nobody any more. */
  answer: Promise<unknown>
  /** Processor time that he has had so far. */
  processorMs(): number
}

/** Without any sign of life. */
const ANSWER_LIMIT_MS = 2_000
/** Large things of one page (an address of `data:`) keep the browser's main thread busy for seconds on a busy machine. */
const BUSY_LOOKS = 5
/**
 * The time is waited in parts, and what has come is read between them: a single
 * timer that is late, because we ourselves were held up, would end before an
 * answer is read that has long been there.
 */
const PARTS = 20

/** Whether he answers in time: within two seconds, or within ten while he is at work. Never rejects. */
export async function stillAnswers(
  { answer, processorMs }: Asked,
  limitMs: number = ANSWER_LIMIT_MS,
): Promise<boolean> {
  const answered = new AbortController()
  const untilGivenUp = async () => {
    for (let look = 0; look < BUSY_LOOKS; look++) {
      const beforeMs = processorMs()
      for (let part = 0; part < PARTS; part++)
        await delay(limitMs / PARTS, undefined, { signal: answered.signal })
      if (processorMs() === beforeMs) break
    }
    return false
  }
  const told = answer.then(
    () => true,
    () => false,
  )
  return Promise.race([told, untilGivenUp().catch(() => false)]).finally(() => answered.abort())
}
