import type { AccountId } from '@prepaint/contract/ids.ts'
import type { SelectorProblem } from '@prepaint/contract/outcome/renderer.ts'
import type { Problem, ProblemPath } from '@prepaint/contract/problem.ts'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { Turns } from '@prepaint/runtime/turns.ts'
import { within } from '@prepaint/runtime/within.ts'
import { selectorProblem } from './selector.ts'
import { selectorLimitProblem } from './selector-limits.ts'

// The contract does not read selectors: dashboards load it too, and only a browser knows what it takes.

/** Returns the selectors that a browser refuses. Rejects if no browser can be asked. */
export type AskBrowser = (selectors: readonly string[]) => Promise<readonly SelectorProblem[]>

/** A save waits this long for the browser, which may have to start first. */
const BROWSER_LIMIT_MS = 5_000

/** Checks the selectors of rules before they are saved or tried, as the browser that will render with them reads them. */
export class SelectorCheck {
  readonly #ask: AskBrowser | null
  readonly #log: Pick<Log, 'warn'>
  readonly #limitMs: number
  /** Saves wait for each other, so that many of them open one page only. Accounts take turns. */
  readonly #turns = new Turns(1)

  /** Without `ask`, and where it fails or takes longer than `limitMs`, a grammar of selectors decides. */
  constructor(ask: AskBrowser | null, log: Pick<Log, 'warn'>, { limitMs = BROWSER_LIMIT_MS } = {}) {
    this.#ask = ask
    this.#log = log
    this.#limitMs = limitMs
  }

  /**
   * Returns what is wrong with the first selector that is refused, or null. `path` is where the rules stand in the request. A
   * command has no account.
   */
  async firstProblem(
    rules: readonly Rule[],
    path: ProblemPath = [],
    account: AccountId | null = null,
  ): Promise<Problem | null> {
    const placed = rules.flatMap((rule, at) => selectorsOf(rule, [...path, at]))
    const limited = new Map(placed.map(({ selector }) => [selector, selectorLimitProblem(selector)]))
    const harmless = [...limited.keys()].filter((selector) => limited.get(selector) === null)
    const refused = await this.#refusedOf(harmless, account)
    for (const { selector, place } of placed) {
      const limit = limited.get(selector) ?? null
      if (limit !== null) return { path: place, message: limit }
      if (refused.has(selector)) {
        return { path: place, message: selectorProblem(selector) ?? 'is not a CSS selector' }
      }
    }
    return null
  }

  async #refusedOf(selectors: readonly string[], account: AccountId | null): Promise<Set<string>> {
    if (selectors.length === 0) return new Set()
    const problems = await this.#askBrowser(selectors, account)
    if (problems !== null) return new Set(problems.map(({ selector }) => selector))
    return new Set(selectors.filter((selector) => selectorProblem(selector) !== null))
  }

  /** Asks once for all selectors. Returns null if no browser answers in time. */
  async #askBrowser(
    selectors: readonly string[],
    account: AccountId | null,
  ): Promise<readonly SelectorProblem[] | null> {
    const ask = this.#ask
    if (ask === null) return null
    let isTooLate = false
    const askInTurn = async () => {
      const leave = await this.#turns.enter(account ?? 0, this.#limitMs)
      if (leave === null) return null
      try {
        return isTooLate ? null : await ask(selectors)
      } finally {
        leave()
      }
    }
    try {
      const problems = await within(this.#limitMs, askInTurn(), null)
      if (problems !== null) return problems
      throw new Error(`no browser answered within ${this.#limitMs} ms`)
    } catch (error) {
      isTooLate = true
      this.#log.warn(
        { err: error },
        'selectors of rules were checked by a grammar, as no browser could be asked',
      )
      return null
    }
  }
}

function selectorsOf(
  { render, change }: Rule,
  rule: ProblemPath,
): { selector: string; place: ProblemPath }[] {
  const removed = change?.remove ?? []
  const placed: { selector: string; place: ProblemPath }[] = []
  if (render?.wait_for !== undefined) {
    placed.push({ selector: render.wait_for, place: [...rule, 'render', 'wait_for'] })
  }
  for (const [at, selector] of removed.entries()) {
    placed.push({ selector, place: [...rule, 'change', 'remove', at] })
  }
  return placed
}
