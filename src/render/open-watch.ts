import type { BrowserProcess } from './browser-process.ts'

/** Opening a page takes a tenth of a second. */
export const OPEN_LIMIT_MS = 5_000

/**
 * Ends a browser that cannot open a page in time: it is half dead (its zygote is
 * gone). One whose main thread is at work for another page answers late, and
 * has the same time again. Gives the function that says that the page is open, or given up.
 */
export function endUnlessOpened(browser: Pick<BrowserProcess, 'answers' | 'kill'>): () => void {
  let isOver = false
  const end = () => {
    if (!isOver) void browser.kill('could not open a page')
  }
  const ask = async () => {
    if (!(await browser.answers())) end()
    else if (!isOver) timer = setTimeout(end, OPEN_LIMIT_MS)
  }
  let timer = setTimeout(() => void ask(), OPEN_LIMIT_MS)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
