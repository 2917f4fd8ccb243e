import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { type ProblemPath, problemText } from '@prepaint/contract/problem.ts'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import type { SelectorCheck } from '@prepaint/service/sites/checked-rules.ts'

/** Throws `invalid_field` for the first selector that is refused. `path` is where the rules stand in the body. */
export async function refuseSelectors(
  check: SelectorCheck,
  account: AccountId,
  rules: readonly Rule[],
  path: ProblemPath,
): Promise<void> {
  const problem = await check.firstProblem(rules, path, account)
  if (problem !== null)
    throw new AppError('invalid_field', { word: problemText(problem), problems: [problem] })
}
