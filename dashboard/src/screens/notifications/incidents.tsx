import { Anchor, NativeSelect, Stack } from '@mantine/core'
import { INCIDENT_KINDS } from '@prepaint/contract/notifications/kinds.ts'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'wouter'
import { type IncidentFilter, incidentListQuery } from '../../api/incident-list-query.ts'
import { channelsQuery } from '../../api/notification-queries.ts'
import { domainsQuery } from '../../api/queries.ts'
import { useRights } from '../../api/rights.ts'
import { useSession } from '../../api/session.ts'
import type { Domain, Incident } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { May } from '../../parts/may.tsx'
import { Page } from '../../parts/page.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { Empty, Loaded, NothingFound } from '../../parts/states.tsx'
import { incidentsPath, ROUTES } from '../../route-map.ts'
import { StateShape } from '../sites/state-shape.tsx'
import { IncidentCard, severityOf } from './incident-card.tsx'
import { groupsOf, type IncidentGroup, serverOfOrigin } from './incident-groups.ts'
import classes from './incidents.module.css'
import { kindTitle } from './kind-title.ts'
import { toldText } from './told-text.ts'

export default function Incidents() {
  const [filter, change] = useIncidentFilter()
  const incidents = useInfiniteQuery(incidentListQuery(filter))
  const domains = useQuery(domainsQuery).data ?? []
  const list = incidents.data?.pages.flatMap((part) => part.incidents)
  return (
    <Page
      title="Incidents"
      lead={
        <>
          What is wrong, compared with each domain's own past.
          <May action="getNotifications">
            {' '}
            Choose who gets e-mails in{' '}
            <Anchor component={Link} href={ROUTES.notifications} underline="always">
              notifications
            </Anchor>
            .
          </May>
        </>
      }
    >
      <Filters filter={filter} domains={domains} change={change} />
      <Loaded query={{ data: list, error: incidents.error, refetch: incidents.refetch }}>
        {(shown) => <IncidentList incidents={shown} domains={domains} filter={filter} change={change} />}
      </Loaded>
      <ShowMore list={incidents}>Show older incidents</ShowMore>
    </Page>
  )
}

const NO_FILTER: IncidentFilter = { state: null, domain: null, kind: null }

type Change = (changed: Partial<IncidentFilter>) => void

/** The filter in the address. Changes make no entry in the browser's history. */
function useIncidentFilter(): [IncidentFilter, Change] {
  const [params, setParams] = useSearchParams()
  const filter: IncidentFilter = {
    state: (['open', 'resolved'] as const).find((state) => state === params.get('state')) ?? null,
    domain: params.get('domain'),
    kind: INCIDENT_KINDS.find((kind) => kind === params.get('kind')) ?? null,
  }
  const change: Change = (changed) => {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries({ ...filter, ...changed })) {
      if (value !== null) query.set(name, value)
    }
    setParams(query, { replace: true })
  }
  return [filter, change]
}

const STATES = [
  { value: '', label: 'Open and resolved' },
  { value: 'open', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
]

const KIND_OPTIONS = [
  { value: '', label: 'All kinds' },
  ...INCIDENT_KINDS.map((kind) => ({ value: kind, label: kindTitle(kind) })),
]

function Filters(props: { filter: IncidentFilter; domains: readonly Domain[]; change: Change }) {
  const { filter, domains, change } = props
  const names = domains.map(({ custom_domain: name }) => name)
  // It may have been deleted since the link was made.
  if (filter.domain !== null && !names.includes(filter.domain)) names.push(filter.domain)
  return (
    <div className={classes.filters}>
      <NativeSelect
        label="State"
        data={STATES}
        value={filter.state ?? ''}
        onChange={(event) => {
          const state = event.currentTarget.value
          change({ state: state === 'open' || state === 'resolved' ? state : null })
        }}
      />
      <NativeSelect
        label="Site"
        data={[{ value: '', label: 'All sites' }, ...names.map((name) => ({ value: name, label: name }))]}
        value={filter.domain ?? ''}
        onChange={(event) => change({ domain: event.currentTarget.value || null })}
      />
      <NativeSelect
        label="Kind"
        data={KIND_OPTIONS}
        value={filter.kind ?? ''}
        onChange={(event) => {
          const chosen = event.currentTarget.value
          change({ kind: INCIDENT_KINDS.find((kind) => kind === chosen) ?? null })
        }}
      />
    </div>
  )
}

function IncidentList(props: {
  incidents: readonly Incident[]
  domains: readonly Domain[]
  filter: IncidentFilter
  change: Change
}) {
  const { incidents, domains, filter, change } = props
  if (incidents.length === 0) return <NoIncidents filter={filter} change={change} />
  const origins = new Map(domains.map((domain) => [domain.custom_domain, domain.origin_url]))
  const groups = groupsOf(incidents, (domain) => serverOfOrigin(origins.get(domain)))
  const open = groups.filter((group) => group.incidents[0]?.state === 'open')
  const resolved = groups.filter((group) => group.incidents[0]?.state !== 'open')
  return (
    <Stack gap="md">
      {open.length === 0 && filter.state !== 'resolved' && (
        <Empty title="Nothing wrong">
          <Told />
        </Empty>
      )}
      {open.map((group) => (
        <IncidentGroupOrCard key={group.key} group={group} />
      ))}
      {resolved.length > 0 && (
        <details className={classes.resolved} open={filter.state === 'resolved' || undefined}>
          <summary>{counted(resolved.length, 'resolved incident')}</summary>
          <Stack gap="md">
            {resolved.map((group) => (
              <IncidentGroupOrCard key={group.key} group={group} />
            ))}
          </Stack>
        </details>
      )}
    </Stack>
  )
}

/** One incident as a card, several with one cause below one line. */
function IncidentGroupOrCard({ group: { kind, incidents } }: { group: IncidentGroup }) {
  const [first] = incidents
  if (first === undefined) return null
  if (incidents.length === 1) return <IncidentCard incident={first} />
  return (
    <details className={classes.group} open>
      <summary>
        <StateShape state="trouble" />
        {kindTitle(kind)} on {counted(incidents.length, 'site')}, same server
      </summary>
      <Stack gap="md">
        {incidents.map((incident) => (
          <IncidentCard key={incident.id} incident={incident} />
        ))}
      </Stack>
    </details>
  )
}

function NoIncidents({ filter, change }: { filter: IncidentFilter; change: Change }) {
  const { state, domain, kind } = filter
  if (domain === null && kind === null && state !== 'resolved') {
    return (
      <Empty title="Nothing wrong">
        <Told /> Incidents of the last 400 days are listed here.
      </Empty>
    )
  }
  const words = ['No', state ?? '', 'incident']
  if (kind !== null) words.push(`“${kindTitle(kind)}”`)
  if (domain !== null) words.push(`of ${domain}`)
  return (
    <NothingFound
      title={words.filter((word) => word !== '').join(' ')}
      all="Show all incidents"
      onClear={() => change(NO_FILTER)}
    >
      Incidents are kept for 400 days.
    </NothingFound>
  )
}

/** Says who hears of trouble. */
function Told() {
  const may = useRights()('getNotifications')
  const { person } = useSession()
  const { data } = useQuery({ ...channelsQuery, enabled: may })
  if (data === undefined) return null
  const emails = data.emails.filter(({ state }) => state === 'confirmed').map(({ email }) => email)
  return (
    <>
      {data.by_mail ? toldText(emails, person.email) : 'Nobody hears of trouble by e-mail'} ·{' '}
      <Anchor component={Link} href={ROUTES.notifications} inherit underline="always">
        Change
      </Anchor>
      .{' '}
    </>
  )
}

/** The worst open incident of a domain as a card, and where the others are. */
export function WorstIncident({ incidents }: { incidents: readonly Incident[] }) {
  const open = incidents.filter(({ state }) => state === 'open')
  const worst = open.find((incident) => severityOf(incident) === 'trouble') ?? open[0]
  if (worst === undefined) return null
  return (
    <Stack gap="xs">
      <IncidentCard incident={worst} />
      {open.length > 1 && (
        <Anchor component={Link} href={incidentsPath(worst.domain)} underline="always" size="sm">
          Show all {count(open.length)} open incidents
        </Anchor>
      )}
    </Stack>
  )
}
