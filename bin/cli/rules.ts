import { readFile } from 'node:fs/promises'
import { ownerOfDomain } from '../../src/accounts/keys.ts'
import { firstProblem } from '../../src/api/http/validation.ts'
import { AppError } from '../../src/errors.ts'
import { coveredRules } from '../../src/rules/rule-book.ts'
import type { Rule } from '../../src/rules/schema.ts'
import { updateDomain } from '../../src/sites/domain-changes.ts'
import { domainSettingsPatchSchema } from '../../src/sites/domain-settings.ts'
import { findDomain } from '../../src/sites/domains.ts'
import { outdatedPages } from '../../src/store/stale-pages.ts'
import { type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { DOMAIN_OPTION, parseDomainOption } from '../command-line/options.ts'
import { readStdin } from '../command-line/output.ts'

const rulesShow = defineCommand({
  options: { domain: DOMAIN_OPTION },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const { plans } = around.config
    const domain = await withDatabase(around, async ({ pool, nowMs }) =>
      findDomain(pool, await ownerOfDomain(pool, name), name, { plans, nowMs }),
    )
    if (domain === null) throw new AppError('domain_not_found')
    return { json: { domain }, text: JSON.stringify(domain.settings.rules, null, 2) }
  },
})

const rulesSet = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    file: { value: 'F', text: 'a JSON file with the list of all rules; - reads stdin', required: true },
    refresh: { value: null, text: 'make the pages stale that other rules made' },
  },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const { plans } = around.config
    const rules = parseRules(values.file === '-' ? await readStdin() : await textOf(values.file))
    return withDatabase(around, async ({ pool, nowMs }) => {
      const owner = await ownerOfDomain(pool, name)
      const domain = await updateDomain(
        pool,
        owner,
        name,
        { settings: { rules }, author: 'command line' },
        { plans, nowMs },
      )
      const outdated = await outdatedPages(pool, domain.id, rules, values.refresh ? nowMs : null)
      const warnings = coveredRules(rules)
      const never = warnings.map(
        ({ rule, covered_by: by }) =>
          `Rule ${rule + 1} never matches: rule ${by + 1} takes all that it could.\n`,
      )
      const text = `${never.join('')}${name} has ${rules.length} rules. Pages of other rules: ${outdated}.`
      return { json: { domain, warnings, outdated_pages: outdated }, text }
    })
  },
})

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--file cannot be read: ${(error as Error).message}`)
  }
}

/** A list, or an object with it as the API takes it. */
function parseRules(text: string): Rule[] {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`--file is not JSON: ${(error as Error).message}`)
  }
  const settings = Array.isArray(json)
    ? { rules: json }
    : ((json as { settings?: unknown } | null)?.settings ?? json)
  const parsed = domainSettingsPatchSchema.pick({ rules: true }).required().safeParse(settings)
  if (parsed.success) return parsed.data.rules
  throw new UsageError(
    `--file: ${firstProblem(domainSettingsPatchSchema, settings, 'JSON') ?? 'has no rules'}`,
  )
}

export const commands: Commands = { 'rules show': rulesShow, 'rules set': rulesSet }
