/** Names and indexes from the outside in, such as `['settings', 'rules', 3, 'path']`. An empty list is the whole body. */
export type ProblemPath = readonly (string | number)[]

/** What is wrong with a field of a request. */
export type Problem = { path: ProblemPath; message: string }

/** Spells a path as texts of errors do: `settings.rules[3].path`. */
export function fieldName(path: readonly PropertyKey[]): string {
  let name = ''
  for (const part of path) {
    if (typeof part === 'number') name += `[${part}]`
    else name += name === '' ? String(part) : `.${String(part)}`
  }
  return name
}

/** Returns a sentence that starts with the field, or with `whole`: `paths[3] must start with /`. */
export function problemText({ path, message }: Problem, whole = 'body'): string {
  return `${fieldName(path) || whole} ${message}`
}
