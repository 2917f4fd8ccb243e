import type { updateDomainBody } from '@prepaint/contract/api/domain.ts'
import type { ProblemPath } from '@prepaint/contract/problem.ts'
import { givenRules, type Rule } from '@prepaint/contract/rules/schema.ts'
import { domainSettingsPatchSchema } from '@prepaint/contract/settings/domain-settings.ts'
import type { z } from 'zod'
import { selectorProblem } from './selector.ts'

// The contract does not read selectors: browsers load it too, and a parser of CSS is large.

/** Rules as a client sends them, with their selectors checked. */
export const checkedRules = givenRules.superRefine((rules, context) => refuseSelectors(rules, context))

/** Settings as a client sends them, with the selectors of their rules checked. */
export const checkedSettingsPatch = domainSettingsPatchSchema.superRefine(({ rules }, context) =>
  refuseSelectors(rules ?? [], context, ['rules']),
)

/** Checks selectors in `superRefine` of a schema whose value has rules at `path`. Adds the first problem only, as checking takes long. */
export function refuseSelectors(
  rules: readonly Rule[],
  context: Pick<z.RefinementCtx, 'addIssue'>,
  path: ProblemPath = [],
): void {
  for (const [at, { render, change }] of rules.entries()) {
    for (const { selector, place } of selectorsOf({ render, change })) {
      const message = selectorProblem(selector)
      if (message === null) continue
      context.addIssue({ code: 'custom', path: [...path, at, ...place], message })
      return
    }
  }
}

function selectorsOf({ render, change }: Pick<Rule, 'render' | 'change'>) {
  const removed = change?.remove ?? []
  const selectors: { selector: string; place: ProblemPath }[] = removed.map((selector, at) => ({
    selector,
    place: ['change', 'remove', at],
  }))
  if (render?.wait_for !== undefined) {
    selectors.unshift({ selector: render.wait_for, place: ['render', 'wait_for'] })
  }
  return selectors
}

type DomainUpdate = z.output<typeof updateDomainBody>

/** Checks selectors in `superRefine` of the body of `PUT /api/domains/:domain`. */
export function refuseSelectorsOfUpdate(
  { settings }: DomainUpdate,
  context: Pick<z.RefinementCtx, 'addIssue'>,
): void {
  refuseSelectors(settings?.rules ?? [], context, ['settings', 'rules'])
}
