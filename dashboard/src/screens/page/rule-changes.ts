import type { PageInspection } from '../../api/types.ts'
import { counted } from '../../format.ts'

export type RuleChanges = NonNullable<NonNullable<PageInspection['stored']>['changed_by_rule']>

/** Says what a rule changed on a page. The list is empty if the rule found nothing to change. */
export function ruleChangeWords({ removed, consent, head, headers }: RuleChanges): string[] {
  const words: string[] = []
  for (const { selector, elements } of removed) {
    if (elements > 0) words.push(`${counted(elements, 'element')} removed (${selector})`)
  }
  if (consent > 0) words.push(`${counted(consent, 'element')} of consent banners removed`)
  if (head.length > 0) words.push(`head: ${head.join(', ')}`)
  if (headers.length > 0) words.push(`headers: ${headers.join(', ')}`)
  return words
}
