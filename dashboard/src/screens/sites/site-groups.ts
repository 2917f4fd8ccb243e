import { KINDS } from '@prepaint/contract/notifications/kinds.ts'
import type { PortfolioDomain } from '../../api/types.ts'
import { capitalised, count, differenceToWeekBefore, percent } from '../../format.ts'

type Group = { title: string; sites: PortfolioDomain[] }

const TITLES: Record<PortfolioDomain['state'], string> = {
  trouble: 'Needs attention',
  warning: 'Needs attention',
  setup: 'To set up',
  ok: 'Fine',
  paused: 'Paused',
}

/** Groups a list that is sorted by attention. */
export function groupsOf(sites: readonly PortfolioDomain[]): Group[] {
  const groups: Group[] = []
  for (const site of sites) {
    const title = TITLES[site.state]
    const last = groups.at(-1)
    if (last?.title === title) last.sites.push(site)
    else groups.push({ title, sites: [site] })
  }
  return groups
}

/** A cause of trouble in words, with the site if it is only one. */
export type Cause = { words: string; sites: number; name: string }

/** The causes of trouble, the most common first. */
export function causesOf(sites: readonly PortfolioDomain[]): Cause[] {
  const causes = new Map<string, Cause>()
  for (const { custom_domain: name, state, reasons } of sites) {
    const [worst] = reasons
    if (state !== 'trouble' || worst === undefined || !(worst.kind in KINDS)) continue
    const words = capitalised(KINDS[worst.kind as keyof typeof KINDS].words)
    const known = causes.get(words)
    causes.set(words, { words, name, sites: (known?.sites ?? 0) + 1 })
  }
  return [...causes.values()].toSorted((a, b) => b.sites - a.sites)
}

/** The difference for a narrow column: `+12 %`. */
export function shortDifference(now: number, before: number): string {
  if (before === 0) return ''
  const change = Math.round(((now - before) / before) * 100)
  if (change === 0) return `±${percent(0)}`
  if (change > 999) return `>${percent(9.99)}`
  return `${change > 0 ? '+' : '−'}${percent(Math.abs(change) / 100)}`
}

export function weekText(sites: readonly PortfolioDomain[]): string {
  const now = sites.reduce((sum, { visits }) => sum + visits.total, 0)
  const before = sites.reduce((sum, { visits }) => sum + visits.before, 0)
  const changed = differenceToWeekBefore(now, before)
  const visits = `${count(now)} ${now === 1 ? 'visit' : 'visits'} of crawlers in 7 days`
  return changed === '' ? visits : `${visits}, ${changed}`
}
