import { updateDomain } from '../../src/accounts/domain-changes.ts'
import { type DomainSettings, domainSettingsPatchSchema } from '../../src/accounts/domain-settings.ts'
import { ownerOfDomain } from '../../src/accounts/tokens.ts'
import { firstProblem } from '../../src/api/field-words.ts'
import { defineCommand, UsageError } from '../command.ts'
import { domainText } from '../domain-fields.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf, yesOrNo } from '../option-values.ts'
import { originOf } from '../origin-option.ts'

export const domainSet = defineCommand({
  options: {
    domain: { value: 'D', text: 'the domain', required: true },
    origin: { value: 'URL', text: 'where the site really lives' },
    active: { value: 'yes|no', text: 'no: live traffic passes to the origin' },
    settings: { value: 'JSON', text: 'those to change, such as {"fresh_seconds": 3600}' },
  },
  async run(values, around) {
    const { config } = around
    const name = domainNameOf(values.domain)
    if (values.origin === null && values.active === null && values.settings === null) {
      throw new UsageError('Nothing to change: give --origin, --active or --settings')
    }
    const change = {
      isActive: values.active === null ? undefined : yesOrNo('active', values.active),
      settings: values.settings === null ? undefined : settingsOf(values.settings),
      originUrl: values.origin === null ? undefined : await originOf(values.origin, config),
    }
    const { plans } = config
    const domain = await withDatabase(around, async ({ pool, nowMs }) =>
      updateDomain(pool, await ownerOfDomain(pool, name), name, change, { plans, nowMs }),
    )
    return { json: { domain }, text: domainText(domain) }
  },
})

function settingsOf(raw: string): Partial<DomainSettings> {
  let json: unknown
  try {
    json = JSON.parse(raw)
  } catch (error) {
    throw new UsageError(`--settings is not JSON: ${(error as Error).message}`)
  }
  const parsed = domainSettingsPatchSchema.safeParse(json)
  if (parsed.success) return parsed.data as Partial<DomainSettings>
  throw new UsageError(`--settings: ${firstProblem(domainSettingsPatchSchema, json, 'JSON') ?? 'not valid'}`)
}
