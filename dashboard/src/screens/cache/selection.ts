/**
 * Which pages of a list are chosen: some of them, or all that its search finds,
 * also those that have not been loaded.
 */
export type Selection = { kind: 'some'; paths: ReadonlySet<string> } | { kind: 'matching' }

export const NOTHING_CHOSEN: Selection = { kind: 'some', paths: new Set() }

export function isChosen(selection: Selection, path: string): boolean {
  return selection.kind === 'matching' || selection.paths.has(path)
}

/** How many that are; `matching`: how many the search finds. */
export function chosenCount(selection: Selection, matching: number): number {
  return selection.kind === 'matching' ? matching : selection.paths.size
}

/** With these chosen, or no longer. From "all that match" only those that are loaded can be left. */
export function withChosen(
  selection: Selection,
  paths: readonly string[],
  isOn: boolean,
  loaded: readonly string[],
): Selection {
  const next = new Set(selection.kind === 'matching' ? loaded : selection.paths)
  for (const path of paths) {
    if (isOn) next.add(path)
    else next.delete(path)
  }
  return { kind: 'some', paths: next }
}

/** All rows from one to the other, whichever is first. */
export function between(rows: readonly string[], from: number, to: number): string[] {
  return rows.slice(Math.min(from, to), Math.max(from, to) + 1)
}
