import {
  domainSettingsPatchSchema,
  type GivenOriginHeaders,
} from '@prepaint/contract/settings/domain-settings.ts'
import { firstProblem } from '@prepaint/contract/validation.ts'
import { ownerOfDomain } from '@prepaint/service/accounts/keys.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { updateWithNotes } from '@prepaint/service/sites/domain-changes.ts'
import type { DomainWithSettings } from '@prepaint/service/sites/domains.ts'
import { openToAll } from '@prepaint/service/sites/origin-headers.ts'
import { type Commands, defineCommand, type Surroundings, UsageError } from '../../command-line/command.ts'
import { withDatabase } from '../../command-line/open-database.ts'
import { DOMAIN_OPTION, parseDomainOption, shownDomain } from '../../command-line/options.ts'
import { askHidden, canAsk, readStdin, table } from '../../command-line/output.ts'

const NAME_OPTION = { value: 'N', text: 'the header, such as X-Origin-Secret', required: true } as const

const headerSet = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    name: NAME_OPTION,
    'value-stdin': { value: null, text: 'read the value from standard input, instead of asking for it' },
    all: { value: null, text: 'with passed requests too: everybody who asks the edge gets the origin' },
  },
  async run(values, around) {
    const value = await readValue(values['value-stdin'])
    const header = { name: values.name, value, for: values.all ? ('all' as const) : ('renders' as const) }
    return change(values, around, (others) => [...others, header])
  },
})

async function readValue(isStdin: boolean): Promise<string> {
  if (isStdin) return readStdin()
  if (!canAsk()) throw new UsageError('Give the value with --value-stdin')
  let given = ''
  await askHidden('Value: ', (answer) => {
    given = answer
    return null
  })
  return given
}

const headerRemove = defineCommand({
  options: { domain: DOMAIN_OPTION, name: NAME_OPTION },
  async run(values, around) {
    return change(values, around, (others, isKnown) => {
      if (!isKnown) throw new UsageError(`The domain has no header ${values.name}`)
      return others
    })
  },
})

const headerList = defineCommand({
  options: { domain: DOMAIN_OPTION },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    const domain = await withDatabase(around, (store) => shownDomain(store, name, around.config))
    return { json: { domain }, text: listed(domain) }
  },
})

/** `decide` gets the other headers, and whether there is one of that name. */
async function change(
  values: { domain: string; name: string },
  around: Surroundings,
  decide: (others: GivenOriginHeaders, isKnown: boolean) => GivenOriginHeaders,
) {
  const name = parseDomainOption(values.domain)
  const { plans, secretKeys: keys, dataDir } = around.config
  return withDatabase(around, async (store) => {
    const { pool, nowMs } = store
    const { origin_headers: before } = (await shownDomain(store, name, around.config)).settings
    const others = before.filter((header) => header.name.toLowerCase() !== values.name.toLowerCase())
    const given = decide(others, others.length < before.length)
    const problem = firstProblem(domainSettingsPatchSchema, { origin_headers: given }, 'settings')
    if (problem !== null) throw new UsageError(problem)
    const vault = new Vault(pool, dataDir, keys)
    const settings = { origin_headers: given }
    const owner = await ownerOfDomain(pool, name)
    const change = { settings, vault, refreshes: false }
    const saved = await updateWithNotes(pool, owner, name, change, { plans, nowMs })
    const warnings = openToAll(given).map((one) => `${one.origin_header}: ${one.message}.\n`)
    return { json: saved, text: `${warnings.join('')}${listed(saved.domain)}` }
  })
}

function listed({ settings }: DomainWithSettings): string {
  const rows = settings.origin_headers.map((header) => [header.name, header.for])
  return table(['name', 'for'], rows, 'No headers for the origin.')
}

export const commands: Commands = {
  'origin-header set': headerSet,
  'origin-header list': headerList,
  'origin-header remove': headerRemove,
}
