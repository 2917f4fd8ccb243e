import { Anchor, Badge, List, Text } from '@mantine/core'
import { type IncidentKind, KINDS } from '@prepaint/contract/notifications/kinds.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { incidentsQuery } from '../../api/notification-queries.ts'
import type { Incident } from '../../api/types.ts'
import { Facts, Page, Section } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { pagePath, ROUTES } from '../../route-map.ts'

export const kindTitle = (kind: IncidentKind) =>
  KINDS[kind].words.replace(/^./, (first) => first.toUpperCase())

export default function Incidents() {
  const incidents = useQuery(incidentsQuery())
  return (
    <Page
      title="Incidents"
      lead={
        <>
          What is wrong, compared with each domain's own past. Choose who is told in{' '}
          <Anchor component={Link} href={ROUTES.notifications} underline="always">
            notifications
          </Anchor>
          .
        </>
      }
    >
      <Loaded query={incidents}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="No incidents">
              Everything is as usual. Incidents of the last 400 days are listed here.
            </Empty>
          ) : (
            list.map((incident) => <OneIncident key={incident.id} incident={incident} />)
          )
        }
      </Loaded>
    </Page>
  )
}

function OneIncident({ incident }: { incident: Incident }) {
  const { domain, kind, state, since, resolved_at: ended, resolution, summary, evidence } = incident
  const isOpen = state === 'open'
  return (
    <Section
      title={`${domain}: ${kindTitle(kind)}`}
      lead={summary}
      actions={<Badge color={isOpen ? 'red' : 'paint'}>{isOpen ? 'Open' : 'Resolved'}</Badge>}
    >
      <Facts
        rows={[
          ['Since', <TimeText key="since" at={since} />],
          ...(ended === null
            ? []
            : [[`Ended (${resolution})`, <TimeText key="ended" at={ended} />] as const]),
          ...evidence.changes.map(
            ({ what, at }) => [`Before: ${what}`, <TimeText key={at} at={at} />] as const,
          ),
          ...(isOpen ? [['Try first', evidence.advice] as const] : []),
        ]}
      />
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

/** The health of a domain in one sentence. */
export function HealthSentence({ domain }: { domain: string }) {
  const { data } = useQuery(incidentsQuery(domain))
  if (data === undefined) return null
  const open = data.filter(({ state }) => state === 'open')
  const [first] = open
  return (
    <div className="sheet" role="status" aria-label="Health">
      {first === undefined ? (
        <Text>Everything is as usual.</Text>
      ) : (
        <Text className="break">
          <strong>{kindTitle(first.kind)}.</strong> {first.summary}{' '}
          <Anchor component={Link} href={ROUTES.incidents} underline="always">
            {open.length === 1 ? 'Show the incident' : `Show ${open.length} incidents`}
          </Anchor>
        </Text>
      )}
    </div>
  )
}
