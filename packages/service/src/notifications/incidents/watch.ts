import { INCIDENT_KINDS, type IncidentKind } from '@prepaint/contract/notifications/kinds.ts'
import type { Facts } from './facts.ts'
import { type Finding, RULES } from './rules.ts'

const MINUTE_MS = 60_000
const HOLD_MS = 3 * MINUTE_MS
/** Others. A lost name was looked at twice. */
const HOLDS_MS: { [Kind in IncidentKind]?: number } = {
  dns_lost: 0,
  quota_reached: 0,
  integration_refused: 0,
  quota_forecast: 360 * MINUTE_MS,
}
const QUIET_MS = 5 * MINUTE_MS
/** A front whose key is dead asks again only when a crawler comes. */
const FRONT_QUIET_MS = 10 * MINUTE_MS
const REPEATED_MS = 30 * MINUTE_MS
const FORGET_MS = 1_440 * MINUTE_MS

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

/** `report`: opens an incident, or raises the level of the open one. */
export type Action =
  | { do: 'report'; kind: IncidentKind; sinceMs: number; finding: Finding }
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
    const isAway = origin?.heldMs !== undefined || openOf('origin_unreachable') !== undefined
    const renders = facts.renders.filter(({ atMs }) => atMs > (memory.resolvedMs ?? 0))
    const before = {
      signsFromMs: nowMs - QUIET_MS / speed,
      base: memory.base,
      open: incident,
      unreachableUntilMs: isAway ? Infinity : (origin?.resolvedMs ?? 0),
    }
    const finding = RULES[kind]({ ...facts, renders }, before)
    // A name that leads elsewhere explains missing crawlers, and its certificate is not in use.
    const isExplained =
      ['crawlers_gone', 'certificate_failing'].includes(kind) && openOf('dns_lost') !== undefined
    const action =
      incident === undefined
        ? closedStep(kind, memory, { ...finding, holds: finding.holds && !isExplained }, nowMs, speed)
        : openStep(facts, memory, finding, incident, speed)
    if (action !== null) actions.push(action)
    // Renders older than that are not looked at.
    if (nowMs - (memory.resolvedMs ?? nowMs) > FORGET_MS) delete memory.resolvedMs
    if (Object.keys(memory).length > 0) next[kind] = memory
  }
  return { watch: next, actions }
}

function closedStep(
  kind: IncidentKind,
  memory: Memory,
  finding: Finding,
  nowMs: number,
  speed: number,
): Action | null {
  const { holds, sinceMs, base } = finding
  const wasLately = (memory.heldMs ?? nowMs) - (memory.resolvedMs ?? -Infinity) < REPEATED_MS / speed
  const holdMs = Math.max(HOLDS_MS[kind] ?? HOLD_MS, wasLately && kind !== 'quota_reached' ? REPEATED_MS : 0)
  const isEnough = nowMs - (memory.heldMs ?? nowMs) >= holdMs / speed
  // The forecast is looked at twice: what is between does not count.
  if (kind === 'quota_forecast' && memory.heldMs !== undefined && !isEnough) return null
  if (!holds) return forget(memory)
  memory.heldMs ??= nowMs
  memory.sinceMs = Math.min(memory.sinceMs ?? sinceMs, sinceMs)
  if (base !== undefined) memory.base ??= base
  if (!isEnough) return null
  delete memory.heldMs
  memory.signMs = nowMs
  return { do: 'report', kind, sinceMs: memory.sinceMs, finding }
}

function openStep(
  { nowMs, quota }: Facts,
  memory: Memory,
  finding: Finding,
  { id, kind, level, openedMs }: Open,
  speed: number,
): Action | null {
  memory.signMs = Math.max(memory.signMs ?? 0, finding.signMs, openedMs)
  if ((finding.level ?? 0) > (level ?? 0)) return { do: 'report', kind, sinceMs: nowMs, finding }
  const isUsedUp = kind === 'quota_forecast' && quota.limit > 0 && quota.used >= quota.limit
  const quietMs = kind === 'integration_refused' ? FRONT_QUIET_MS : QUIET_MS
  const isQuiet = nowMs - memory.signMs >= quietMs / speed && finding.goodMs > memory.signMs
  if (!(isUsedUp || (kind === 'quota_reached' ? !finding.holds : isQuiet))) return null
  forget(memory)
  memory.resolvedMs = nowMs
  return { do: 'resolve', id, resolution: isUsedUp ? 'quota_reached' : 'recovered' }
}

/** All but the last end. */
function forget(memory: Memory): null {
  for (const key of ['heldMs', 'sinceMs', 'base', 'signMs'] as const) delete memory[key]
  return null
}
