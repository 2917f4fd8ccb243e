import { TRIED_AT_ONCE } from '@prepaint/contract/api/rule-tries.ts'
import { givenRules, type Rule } from '@prepaint/contract/rules/schema.ts'
import { firstProblem } from '@prepaint/contract/validation.ts'
import { findTry, type RuleTry, requestTry } from '@prepaint/pages/queue/tries/rule-tries.ts'
import { coveredRules } from '@prepaint/runtime/rule-book.ts'
import { ownerOfDomain } from '@prepaint/service/accounts/keys.ts'
import { mostAskedPaths } from '@prepaint/service/insight/traffic/read-summaries.ts'
import { updateWithNotes } from '@prepaint/service/sites/domain-changes.ts'
import { z } from 'zod'
import { refuseSelectors } from '../../command-line/check-selectors.ts'
import { type Commands, defineCommand, type Surroundings, UsageError } from '../../command-line/command.ts'
import { withDatabase } from '../../command-line/open-database.ts'
import {
  DOMAIN_OPTION,
  parseDomainOption,
  parseJsonOption,
  parsePathOptions,
  readFileOption,
  shownDomain,
  whenRendered,
  withDomain,
} from '../../command-line/options.ts'
import { table } from '../../command-line/output.ts'

const rulesShow = defineCommand({
  options: { domain: DOMAIN_OPTION },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const domain = await withDatabase(around, (open) => shownDomain(open, name, around.config))
    return { json: { domain }, text: JSON.stringify(domain.settings.rules, null, 2) }
  },
})

const FILE_OPTION = {
  value: 'F',
  text: 'a JSON file with the list of all rules; - reads stdin',
  required: true,
} as const

const rulesSet = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    file: FILE_OPTION,
    refresh: { value: null, text: 'make the pages stale that other rules made' },
  },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const { plans } = around.config
    const rules = await checkedRules(await readFileOption(values.file), around)
    return withDatabase(around, async ({ pool, nowMs }) => {
      const owner = await ownerOfDomain(pool, name)
      const change = { settings: { rules }, refreshes: values.refresh }
      const saved = await updateWithNotes(pool, owner, name, change, { plans, nowMs })
      const never = coveredRules(rules).map(
        ({ rule, covered_by: by }) =>
          `Rule ${rule + 1} never applies: rule ${by + 1} matches the same pages first.\n`,
      )
      const text = `${never.join('')}${name} now has ${rules.length} ${rules.length === 1 ? 'rule' : 'rules'}. Stored pages that other rules made: ${saved.outdated_pages}.`
      return { json: saved, text }
    })
  },
})

const rulesTry = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    file: FILE_OPTION,
    path: {
      value: 'P',
      text: 'a page to try, at most 20 times; default: those asked for most',
      many: true,
    },
  },
  async run(values, around) {
    const rules = await checkedRules(await readFileOption(values.file), around)
    return withDomain(values.domain, around, async (domain, { pool, nowMs }) => {
      const of = { account: domain.account, domains: [domain.id] }
      const paths =
        values.path.length === 0
          ? await mostAskedPaths(pool, of, nowMs, TRIED_AT_ONCE)
          : parsePathOptions(values.path, TRIED_AT_ONCE, domain.settings.query)
      const id = await requestTry(pool, domain, rules, paths)
      return whenRendered(async () => {
        const found = await findTry(pool, domain.id, id)
        return found?.state === 'done' ? { json: { ...found }, text: triedText(found) } : null
      }, 'tried the rules')
    })
  },
})

function triedText({ pages }: RuleTry): string {
  const rule = (index: number | null) => (index === null ? 'none' : `${index + 1}`)
  const rows = pages.map(({ path, category, variant, rule_before, rule_after, outcome, ms, differences }) => [
    path,
    variant === 'mobile' ? `${category}, mobile` : category,
    `${rule(rule_before)} -> ${rule(rule_after)}`,
    outcome ?? '',
    ms === null ? '' : `${ms} ms`,
    differences.map(({ of, after }) => (of === 'outcome' ? `outcome: ${after}` : of)).join(', ') || 'none',
  ])
  return table(['path', 'as', 'rule', 'outcome', { heading: 'time', right: true }, 'differences'], rows, '')
}

/** A list, or the body of a `PUT`. */
async function checkedRules(text: string, around: Surroundings): Promise<Rule[]> {
  const json = parseJsonOption('file', text)
  const rules = (json as { settings?: { rules?: unknown } } | null)?.settings?.rules ?? json
  const parsed = givenRules.safeParse(rules)
  if (!parsed.success) {
    throw new UsageError(`--file: ${firstProblem(z.object({ rules: givenRules }), { rules })}`)
  }
  await refuseSelectors(parsed.data, 'file', around)
  return parsed.data
}

export const commands: Commands = { 'rules show': rulesShow, 'rules set': rulesSet, 'rules try': rulesTry }
