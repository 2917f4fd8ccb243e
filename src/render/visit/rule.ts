import type { RuleChange } from '../../rules/schema.ts'
import type { RenderOutcome, RenderRequest, RenderRule, RuleChanges } from '../outcome.ts'
import type { Page } from '../tab/page.ts'
import { makeWorld, type Snapshot } from './snapshot.ts'
import { waitFurther } from './wait-for.ts'

/** Waits as the page's rule says. Returns what the page lacks then; null: nothing. */
export async function lackOfRule(
  { rule }: Pick<RenderRequest, 'rule'>,
  options: Omit<Parameters<typeof waitFurther>[0], 'world' | 'untilMs'> & {
    page: Page
    captureByMs: number | null
    awaitUntilMs: number
    pageMs: number
  },
): Promise<string | null> {
  const { waitFor, waitMs = 0 } = rule ?? {}
  if (waitFor === undefined && waitMs === 0) return null
  const { session, page, pageMs, captureByMs, awaitUntilMs } = options
  const untilMs = Math.min(awaitUntilMs, captureByMs ?? Number.POSITIVE_INFINITY)
  const world = async () => page.ownWorld ?? (await makeWorld(session, page.frameId))
  const isMet = await waitFurther({ ...options, world, untilMs }, { waitFor, waitMs, pageMs })
  return isMet ? null : `no element matches ${waitFor}`
}

/** With the absolute canonical URL. */
export function changeOf({ rule }: Pick<RenderRequest, 'rule'>, url: string): RuleChange | null {
  const { change } = rule ?? {}
  if (change === undefined) return null
  if (change.head?.canonical !== 'self') return change
  return { ...change, head: { ...change.head, canonical: url } }
}

/** The page was judged as it is; what is stored is as the rule wants it. */
export function withChanges(
  outcome: RenderOutcome,
  snapshot: Snapshot,
  rule: RenderRule | undefined,
): RenderOutcome {
  if (outcome.kind !== 'rendered' || snapshot.kind !== 'html' || rule === undefined) return outcome
  const wanted = Object.entries(rule.change?.headers ?? {})
  const names = new Set(wanted.map(([name]) => name.toLowerCase()))
  const headers = [...outcome.headers.filter(([name]) => !names.has(name.toLowerCase())), ...wanted]
  const none = { removed: [], consent: 0, head: [] }
  const changes: RuleChanges = {
    ...{ rule: rule.index, ...(snapshot.changed?.changes ?? none) },
    headers: wanted.map(([name]) => name),
  }
  return { ...outcome, changed: { html: snapshot.changed?.html ?? outcome.html, headers, changes } }
}
