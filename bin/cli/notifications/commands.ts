import { EVENT_TYPES, endpointSchema } from '@prepaint/contract/api/notifications.ts'
import { planNamed } from '@prepaint/contract/settings/plans.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { testEndpoint } from '@prepaint/service/notifications/delivery/deliveries.ts'
import { checkEndpointUrl } from '@prepaint/service/notifications/delivery/endpoint-url.ts'
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  requireEndpoints,
} from '@prepaint/service/notifications/delivery/endpoints.ts'
import { listIncidents } from '@prepaint/service/notifications/incidents/incidents.ts'
import { type Commands, defineCommand } from '../../command-line/command.ts'
import { withDatabase } from '../../command-line/open-database.ts'
import {
  ACCOUNT_OPTIONS,
  accountNamed,
  domainNamed,
  parseChoiceOption,
  parseDomainOption,
  parseIdOption,
} from '../../command-line/options.ts'
import { table } from '../../command-line/output.ts'

const ID_OPTION = { value: 'ID', text: 'the id that "endpoint list" shows', required: true } as const

const FORMATS = endpointSchema.shape.format.options
const TYPES = EVENT_TYPES.join(', ')

const endpointAdd = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    url: {
      value: 'U',
      text: 'where events are sent: https, port 443 or from 1024 up; http to allowed private addresses',
      required: true,
    },
    format: { value: 'F', text: 'standard (the default) or slack' },
    events: {
      value: 'a,b',
      text: `types of events: ${TYPES}; default: all but report.weekly`,
    },
  },
  async run({ url, format: formatText, events: types, ...named }, around) {
    const { config } = around
    const format = formatText === null ? undefined : parseChoiceOption('format', formatText, FORMATS)
    const events = types?.split(',').map((type) => parseChoiceOption('events', type.trim(), EVENT_TYPES))
    await checkEndpointUrl(url, createAddressGuard(config.allowedPrivateOrigins))
    const made = await withDatabase(around, async ({ pool }) => {
      const account = await accountNamed(pool, named)
      requireEndpoints(planNamed(config.plans, account.plan))
      const vault = new Vault(pool, config.dataDir, config.secretKeys)
      return createEndpoint(pool, vault, account.id, { url, format, events })
    })
    around.say('Secret to verify deliveries with, shown only once:')
    return { json: { id: made.id, url: made.url, secret: made.secret }, text: made.secret }
  },
})

const endpointList = defineCommand({
  options: ACCOUNT_OPTIONS,
  async run(named, around) {
    const endpoints = await withDatabase(around, async ({ pool }) =>
      listEndpoints(pool, (await accountNamed(pool, named)).id),
    )
    const rows = endpoints.map(({ id, url, format, is_active: isActive, failing_since: since }) => {
      return [String(id), url, format, isActive ? 'on' : 'off', since ?? '']
    })
    const headings = [{ heading: 'id', right: true }, 'url', 'format', 'state', 'failing since'] as const
    return { json: { endpoints }, text: table([...headings], rows, 'No endpoints.') }
  },
})

const endpointRemove = defineCommand({
  options: { id: ID_OPTION },
  async run(values, around) {
    const id = parseIdOption(values.id)
    const deleted = await withDatabase(around, ({ pool }) => deleteEndpoint(pool, null, id))
    return { json: { deleted }, text: `Endpoint ${deleted.url} removed.` }
  },
})

const endpointTest = defineCommand({
  options: { id: ID_OPTION },
  async run(values, around) {
    const id = parseIdOption(values.id)
    const delivery = await withDatabase(around, ({ pool }) => testEndpoint(pool, null, id))
    return { json: { delivery }, text: `Test ${delivery.event_id} queued: a running node sends it at once.` }
  },
})

const incidentsList = defineCommand({
  options: {
    domain: { value: 'D', text: 'only of this domain' },
    open: { value: null, text: 'only open ones' },
  },
  async run(values, around) {
    const name = values.domain === null ? null : parseDomainOption(values.domain)
    const { incidents } = await withDatabase(around, async ({ pool }) => {
      const domains = name && [(await domainNamed(pool, name)).id]
      const asked = { state: values.open ? ('open' as const) : undefined, limit: 200 }
      return listIncidents(pool, { account: null, domains }, asked)
    })
    const rows = incidents.map((each) => [each.domain, each.kind, each.state, each.since, each.summary])
    return {
      json: { incidents },
      text: table(['domain', 'kind', 'state', 'since', 'summary'], rows, 'No incidents.'),
    }
  },
})

export const commands: Commands = {
  'endpoint add': endpointAdd,
  'endpoint list': endpointList,
  'endpoint remove': endpointRemove,
  'endpoint test': endpointTest,
  incidents: incidentsList,
}
