import { INCIDENT_KINDS, type IncidentKind } from '../kinds.ts'
import type { Facts } from './facts.ts'
import { type Before, type Finding, RULES } from './rules.ts'

const MINUTE_MS = 60_000
const HOLD_MS = 3 * MINUTE_MS
const QUIET_MS = 5 * MINUTE_MS
const REPEATED_MS = 30 * MINUTE_MS
const FORECAST_MS = 360 * MINUTE_MS

/**
 * An incident of one kind:
 *
 * ```
 *   nothing --> held --------> open ----------------------> resolved
 *      ^   condition | holds for      quiet for 5 minutes       |
 *      |             | 3 minutes      and a good sign           |
 *      +-------------+                                          |
 *      ^   it no longer holds: no trace                         |
 *      +--------------------------------------------------------+
 *          within 30 minutes it must hold for 30 minutes
 * ```
 */
type Memory = {
  /** Since when the condition holds without being reported. */
  heldMs?: number
  sinceMs?: number
  base?: number
  signMs?: number
  resolvedMs?: number
}

export type Watch = Partial<Record<IncidentKind, Memory>>

export type Open = { id: number; kind: IncidentKind; level: number | null; openedMs: number }

export type Action =
  | { do: 'open'; kind: IncidentKind; sinceMs: number; finding: Finding }
  | { do: 'update'; id: number; kind: IncidentKind; sinceMs: number; finding: Finding }
  | { do: 'resolve'; id: number; resolution: string }

/** One evaluation of a domain. Pure: `speed` divides the times. */
export function advance(
  facts: Facts,
  watch: Watch,
  open: readonly Open[],
  speed: number,
): { watch: Watch; actions: Action[] } {
  const { nowMs } = facts
  const next: Watch = {}
  const actions: Action[] = []
  const openOf = (kind: IncidentKind) => open.find((each) => each.kind === kind)
  for (const kind of INCIDENT_KINDS) {
    const memory: Memory = { ...watch[kind] }
    const incident = openOf(kind)
    const origin = next.origin_unreachable
    const isHeld = origin?.heldMs !== undefined || openOf('origin_unreachable') !== undefined
    const before: Before = {
      ...{ afterMs: memory.resolvedMs ?? 0, base: memory.base, quietMs: QUIET_MS / speed },
      ...{ isOpen: incident !== undefined, level: incident?.level ?? null },
      unreachable: { isHeld, untilMs: isHeld ? nowMs : (origin?.resolvedMs ?? 0) },
    }
    const finding = RULES[kind](facts, before)
    // A name that leads elsewhere explains missing crawlers.
    const mayOpen = finding.holds
      ? kind !== 'crawlers_gone' || openOf('dns_lost') === undefined
      : kind === 'quota_forecast'
    if (incident !== undefined) {
      const action = openStep(facts, memory, finding, incident, speed)
      if (action !== null) actions.push(action)
    } else if (!mayOpen) {
      forget(memory)
    } else if (stepTowards(kind, memory, finding, nowMs, speed)) {
      actions.push({ do: 'open', kind, sinceMs: memory.sinceMs ?? nowMs, finding })
      delete memory.heldMs
      memory.signMs = nowMs
    }
    // Renders older than that are not looked at.
    if (nowMs - (memory.resolvedMs ?? nowMs) > 1_440 * MINUTE_MS) delete memory.resolvedMs
    if (Object.keys(memory).length > 0) next[kind] = memory
  }
  return { watch: next, actions }
}

/** Returns whether the condition has held long enough. */
function stepTowards(
  kind: IncidentKind,
  memory: Memory,
  { holds, sinceMs, base }: Finding,
  nowMs: number,
  speed: number,
): boolean {
  if (kind === 'quota_reached') return true
  if (kind === 'quota_forecast') {
    // Two looks six hours apart; what is between does not count.
    const isSecond = memory.heldMs !== undefined && nowMs - memory.heldMs >= FORECAST_MS / speed
    if (isSecond && holds) return true
    if (isSecond) forget(memory)
    else if (holds && memory.heldMs === undefined) memory.heldMs = memory.sinceMs = nowMs
    return false
  }
  memory.heldMs ??= nowMs
  memory.sinceMs = Math.min(memory.sinceMs ?? sinceMs, sinceMs)
  if (base !== undefined) memory.base ??= base
  const wasLately = memory.heldMs - (memory.resolvedMs ?? -Infinity) < REPEATED_MS / speed
  const holdMs = wasLately ? REPEATED_MS : kind === 'dns_lost' ? 0 : HOLD_MS
  return nowMs - memory.heldMs >= holdMs / speed
}

function openStep(
  { nowMs, quota }: Facts,
  memory: Memory,
  finding: Finding,
  { id, kind, level, openedMs }: Open,
  speed: number,
): Action | null {
  memory.signMs = Math.max(memory.signMs ?? 0, finding.signMs ?? 0, openedMs)
  if ((finding.level ?? 0) > (level ?? 0)) return { do: 'update', id, kind, sinceMs: nowMs, finding }
  const isUsedUp = kind === 'quota_forecast' && quota.limit > 0 && quota.used >= quota.limit
  const isQuiet = nowMs - memory.signMs >= QUIET_MS / speed
  const isGood = finding.goodMs !== null && finding.goodMs > memory.signMs
  const isOver = kind === 'quota_reached' || isUsedUp ? !finding.holds : isQuiet && isGood
  if (!isOver) return null
  forget(memory)
  memory.resolvedMs = nowMs
  return { do: 'resolve', id, resolution: isUsedUp ? 'quota_reached' : 'recovered' }
}

/** All but the last end. */
function forget(memory: Memory): void {
  for (const key of ['heldMs', 'sinceMs', 'base', 'signMs'] as const) delete memory[key]
}
