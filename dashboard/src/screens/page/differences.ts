import { diffArrays } from 'diff'

import type { PageFacts } from '../../api/types.ts'
import { COMPARED_FACTS, type ComparedFact } from './page-facts.ts'

export type Difference =
  | { kind: 'value'; name: string; before: string | null; after: string | null }
  | { kind: 'list'; name: string; removed: string[]; added: string[]; same: number }

/** A part of two texts. `count` lines belong to it, of which `lines` are shown: the middle of long identical parts is not. */
export type Stretch = { kind: 'same' | 'removed' | 'added' | 'skipped'; lines: string[]; count: number }

/** So many identical lines are shown around a difference. */
const AROUND = 2
/** A line-by-line comparison of more different lines would take seconds. */
const EDITS_MOST = 4_000

/** Compares everything except the text. `same` names the parts that are identical. */
export function differences(before: PageFacts, after: PageFacts): { differ: Difference[]; same: string[] } {
  const differ: Difference[] = []
  const same: string[] = []
  for (const fact of COMPARED_FACTS) {
    const difference = differenceOf(fact, before, after)
    if (isDifferent(difference)) differ.push(difference)
    else same.push(fact.label)
  }
  return { differ, same }
}

function differenceOf(fact: ComparedFact, before: PageFacts, after: PageFacts): Difference {
  const old = fact.read(before)
  const now = fact.read(after)
  if (fact.isList) return listDifference(fact.label, new Set(old), new Set(now))
  return { kind: 'value', name: fact.label, before: old[0] ?? null, after: now[0] ?? null }
}

function listDifference(name: string, old: ReadonlySet<string>, now: ReadonlySet<string>): Difference {
  return {
    kind: 'list',
    name,
    removed: [...old].filter((text) => !now.has(text)),
    added: [...now].filter((text) => !old.has(text)),
    same: [...now].filter((text) => old.has(text)).length,
  }
}

function isDifferent(difference: Difference): boolean {
  if (difference.kind === 'value') return difference.before !== difference.after
  return difference.removed.length + difference.added.length > 0
}

/** Returns null if the texts have almost no line in common. */
export function textDifference(before: readonly string[], after: readonly string[]): Stretch[] | null {
  const parts = diffArrays([...before], [...after], { maxEditLength: EDITS_MOST })
  if (parts === undefined) return null
  return parts.flatMap(({ added, removed, value: lines }, at): Stretch[] => {
    if (added) return [{ kind: 'added', lines, count: lines.length }]
    if (removed) return [{ kind: 'removed', lines, count: lines.length }]
    return identicalLines(lines, { isFirst: at === 0, isLast: at === parts.length - 1 })
  })
}

/** Keeps the lines next to a difference. One line is never skipped, because the note would take its place. */
function identicalLines(lines: string[], place: { isFirst: boolean; isLast: boolean }): Stretch[] {
  const start = place.isFirst ? 0 : AROUND
  const end = place.isLast ? 0 : AROUND
  const skipped = lines.length - start - end
  if (skipped <= 1) return [{ kind: 'same', lines, count: lines.length }]
  const stretches: Stretch[] = [
    { kind: 'same', lines: lines.slice(0, start), count: start },
    { kind: 'skipped', lines: [], count: skipped },
    { kind: 'same', lines: lines.slice(lines.length - end), count: end },
  ]
  return stretches.filter((stretch) => stretch.count > 0)
}
