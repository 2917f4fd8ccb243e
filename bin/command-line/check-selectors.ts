import { problemText } from '@prepaint/contract/problem.ts'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import { SelectorBrowser } from '@prepaint/engine/browser'
import { SelectorCheck } from '@prepaint/service/sites/checked-rules.ts'
import { type Surroundings, UsageError } from './command.ts'

/** The browser may have to be unpacked first. */
const BROWSER_LIMIT_MS = 15_000

/** Throws UsageError for the first selector that the browser refuses. `option` is where the rules were given. */
export async function refuseSelectors(
  rules: readonly Rule[],
  option: string,
  { config, say }: Pick<Surroundings, 'config' | 'say'>,
): Promise<void> {
  const { dataDir, render } = config
  const browser = new SelectorBrowser({
    chromium: render.chromium,
    requireSandbox: render.requireSandbox,
    dataDir,
  })
  const log = {
    warn: ({ err }: { err: Error }) => say(`Selectors were checked without a browser: ${err.message}`),
  }
  const check = new SelectorCheck((selectors) => browser.checkSelectors(selectors), log, {
    limitMs: BROWSER_LIMIT_MS,
  })
  try {
    const problem = await check.firstProblem(rules, ['rules'])
    if (problem !== null) throw new UsageError(`--${option}: ${problemText(problem)}`)
  } finally {
    await browser.close()
  }
}
