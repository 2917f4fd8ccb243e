import { Anchor, Badge, List, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { incidentsQuery } from '../../api/notification-queries.ts'
import type { Incident } from '../../api/types.ts'
import { type FactRow, Facts, Page, Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { pagePath, ROUTES } from '../../route-map.ts'
import { kindTitle } from './kind-title.ts'

export default function Incidents() {
  const incidents = useQuery(incidentsQuery())
  return (
    <Page
      title="Incidents"
      lead={
        <>
          What is wrong, compared with each domain's own past. Choose who gets e-mails in{' '}
          <Anchor component={Link} href={ROUTES.notifications} underline="always">
            notifications
          </Anchor>
          .
        </>
      }
    >
      <Loaded query={incidents}>{(list) => <IncidentList incidents={list} />}</Loaded>
    </Page>
  )
}

function IncidentList({ incidents }: { incidents: readonly Incident[] }) {
  if (incidents.length === 0) {
    return <Empty title="Nothing wrong">Incidents of the last 400 days are listed here.</Empty>
  }
  return incidents.map((incident) => <OneIncident key={incident.id} incident={incident} />)
}

function OneIncident({ incident }: { incident: Incident }) {
  const { domain, kind, state, summary, evidence } = incident
  const isOpen = state === 'open'
  return (
    <Section
      title={`${domain}: ${kindTitle(kind)}`}
      lead={summary}
      actions={<Badge color={isOpen ? 'red' : 'paint'}>{isOpen ? 'Open' : 'Resolved'}</Badge>}
    >
      <Facts rows={incidentFacts(incident)} />
      <List size="sm">
        {evidence.pages.map(({ path, outcome, detail }) => (
          <List.Item key={path} className="break">
            <Anchor component={Link} href={pagePath(domain, path)} size="sm" underline="always">
              {path}
            </Anchor>
            : {outcome} {detail}
          </List.Item>
        ))}
      </List>
    </Section>
  )
}

function incidentFacts({ state, since, resolved_at: endedAt, resolution, evidence }: Incident): FactRow[] {
  const facts: FactRow[] = [['Since', <TimeText key="since" at={since} />]]
  if (endedAt !== null) facts.push([`Ended (${resolution})`, <TimeText key="ended" at={endedAt} />])
  for (const { what, at } of changesBefore(evidence.changes, since)) {
    facts.push([`Changed before: ${what}`, <TimeText key={at} at={at} />])
  }
  if (state === 'open') facts.push(['What to do', evidence.advice])
  return facts
}

/** Earlier versions recorded what changed after the problem began, too. That cannot be its cause. */
function changesBefore(changes: Incident['evidence']['changes'] | undefined, since: string) {
  // Clients do not see what was changed.
  return (changes ?? []).filter(({ at }) => Date.parse(at) <= Date.parse(since))
}

/** The health of a domain in one sentence. */
export function HealthSentence({ domain }: { domain: string }) {
  const { data } = useQuery(incidentsQuery(domain))
  if (data === undefined) return null
  const open = data.filter(({ state }) => state === 'open')
  return (
    <div className="sheet" role="status" aria-label="Health">
      <OpenIncidents incidents={open} />
    </div>
  )
}

function OpenIncidents({ incidents }: { incidents: readonly Incident[] }) {
  const [first] = incidents
  if (first === undefined) return <Text>Nothing wrong.</Text>
  return (
    <Text className="break">
      <strong>{kindTitle(first.kind)}.</strong> {first.summary}{' '}
      <Anchor component={Link} href={ROUTES.incidents} underline="always">
        {incidents.length === 1 ? 'Show the incident' : `Show ${incidents.length} incidents`}
      </Anchor>
    </Text>
  )
}
