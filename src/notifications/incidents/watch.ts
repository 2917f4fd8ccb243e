import { INCIDENT_KINDS, type IncidentKind } from '../kinds.ts'
import type { Facts } from './facts.ts'
import { type Before, type Finding, RULES, TIMES_MS } from './rules.ts'

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
  | { do: 'update'; id: number; kind: IncidentKind; finding: Finding }
  | { do: 'resolve'; id: number; kind: IncidentKind; resolution: string }

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
  for (const kind of INCIDENT_KINDS) {
    const incident = open.find((each) => each.kind === kind)
    const memory: Memory = { ...watch[kind] }
    const finding = RULES[kind](facts, before(kind, facts, watch, next, open, speed))
    if (incident !== undefined) {
      const action = openStep(kind, facts, memory, finding, incident, speed)
      if (action !== null) actions.push(action)
    } else if (!mayOpen(kind, finding, open)) {
      forget(memory)
    } else if (stepTowards(kind, memory, finding, nowMs, speed)) {
      actions.push({ do: 'open', kind, sinceMs: memory.sinceMs ?? nowMs, finding })
      delete memory.heldMs
      memory.signMs = nowMs
    }
    if (memory.resolvedMs !== undefined && nowMs - memory.resolvedMs > RESOLVED_KEPT_MS)
      delete memory.resolvedMs
    if (Object.keys(memory).length > 0) next[kind] = memory
  }
  return { watch: next, actions }
}

/** Renders older than that are not looked at. */
const RESOLVED_KEPT_MS = 24 * 3_600_000

function before(
  kind: IncidentKind,
  { nowMs }: Facts,
  watch: Watch,
  next: Watch,
  open: readonly Open[],
  speed: number,
): Before {
  const { resolvedMs: afterMs = 0, base = null } = watch[kind] ?? {}
  const incident = open.find((each) => each.kind === kind)
  const origin = next.origin_unreachable
  const isHeld = origin?.heldMs !== undefined || open.some((each) => each.kind === 'origin_unreachable')
  return {
    ...{ afterMs, base, isOpen: incident !== undefined, level: incident?.level ?? null },
    quietMs: TIMES_MS.quiet / speed,
    unreachable: { isHeld, untilMs: isHeld ? nowMs : (origin?.resolvedMs ?? 0) },
  }
}

/** A name that leads elsewhere explains missing crawlers; a used-up quota needs no forecast. */
function mayOpen(kind: IncidentKind, { holds }: Finding, open: readonly Open[]): boolean {
  const isOpen = (other: IncidentKind) => open.some((each) => each.kind === other)
  return holds ? !(kind === 'crawlers_gone' && isOpen('dns_lost')) : kind === 'quota_forecast'
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
    if (memory.heldMs !== undefined && nowMs - memory.heldMs >= TIMES_MS.forecast / speed) {
      if (holds) return true
      delete memory.heldMs
    } else if (holds) memory.heldMs ??= nowMs
    if (memory.heldMs === undefined) delete memory.sinceMs
    else memory.sinceMs = memory.heldMs
    return false
  }
  memory.heldMs ??= nowMs
  memory.sinceMs = Math.min(memory.sinceMs ?? sinceMs, sinceMs)
  if (base !== null) memory.base ??= base
  const { heldMs, resolvedMs } = memory
  const wasLately = resolvedMs !== undefined && heldMs - resolvedMs < TIMES_MS.repeated / speed
  const holdMs = wasLately ? TIMES_MS.repeated : kind === 'dns_lost' ? 0 : TIMES_MS.hold
  return nowMs - heldMs >= holdMs / speed
}

function openStep(
  kind: IncidentKind,
  { nowMs, quota }: Facts,
  memory: Memory,
  finding: Finding,
  incident: Open,
  speed: number,
): Action | null {
  memory.signMs = Math.max(memory.signMs ?? 0, finding.signMs ?? 0, incident.openedMs)
  const { id, level } = incident
  if (kind === 'quota_reached' && finding.level !== null && finding.level > (level ?? 0)) {
    return { do: 'update', id, kind, finding }
  }
  const resolution = resolutionOf(kind, quota)
  const atOnce = kind === 'quota_reached' || resolution === 'quota_reached'
  const isQuiet = nowMs - memory.signMs >= TIMES_MS.quiet / speed
  const isGood = finding.goodMs !== null && finding.goodMs > memory.signMs
  if (atOnce ? finding.holds : !(isQuiet && isGood)) return null
  forget(memory)
  memory.resolvedMs = nowMs
  return { do: 'resolve', id, kind, resolution }
}

/** All but the last end. */
function forget(memory: Memory): void {
  for (const key of ['heldMs', 'sinceMs', 'base', 'signMs'] as const) delete memory[key]
}

function resolutionOf(kind: IncidentKind, { used, limit }: Facts['quota']): string {
  return kind === 'quota_forecast' && limit > 0 && used >= limit ? 'quota_reached' : 'recovered'
}
