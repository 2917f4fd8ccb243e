/** Names and indexes from the outside in, such as `['settings', 'rules', 3, 'path']`. Empty: the whole body. */
export type ProblemPath = readonly (string | number)[]

/** What is wrong with a field of a request. */
export type Problem = { path: ProblemPath; message: string }

/** As texts of errors spell it: `settings.rules[3].path`. */
export function fieldName(path: readonly PropertyKey[]): string {
  let name = ''
  for (const part of path) {
    if (typeof part === 'number') name += `[${part}]`
    else name += name === '' ? String(part) : `.${String(part)}`
  }
  return name
}

/** A sentence that starts with the field, or with `whole`: `paths[3] must start with /`. */
export function problemText({ path, message }: Problem, whole = 'body'): string {
  return `${fieldName(path) || whole} ${message}`
}
