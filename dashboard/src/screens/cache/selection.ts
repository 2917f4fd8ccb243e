/** Some pages, or all that match the search, loaded or not. */
export type Selection = { kind: 'some'; paths: ReadonlySet<string> } | { kind: 'matching' }

export const NONE_SELECTED: Selection = { kind: 'some', paths: new Set() }

export function isSelected(selection: Selection, path: string): boolean {
  return selection.kind === 'matching' || selection.paths.has(path)
}

export function selectedCount(selection: Selection, matching: number): number {
  return selection.kind === 'matching' ? matching : selection.paths.size
}

/** Deselecting one of all matching pages keeps the other loaded ones. */
export function withSelected(
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

export function between(rows: readonly string[], from: number, to: number): string[] {
  return rows.slice(Math.min(from, to), Math.max(from, to) + 1)
}
