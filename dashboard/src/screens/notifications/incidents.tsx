import { Anchor, Badge, List, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { type IncidentKind, KINDS } from '../../../../src/notifications/kinds.ts'
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
            <div className="sheet">
              <Empty title="No incidents">
                Everything is as usual. Incidents of the last 400 days are listed here.
              </Empty>
            </div>
          ) : (
            <Stack gap="md">
              {list.map((incident) => (
                <OneIncident key={incident.id} incident={incident} />
              ))}
            </Stack>
          )
        }
      </Loaded>
    </Page>
  )
}

function OneIncident({ incident }: { incident: Incident }) {
  const { domain, kind, state, since, resolved_at: ended, resolution, summary, evidence } = incident
  const isOpen = state === 'open'
  const times = [
    { what: 'Since', at: since },
    ...(ended === null ? [] : [{ what: `Ended (${resolution})`, at: ended }]),
    ...evidence.changes.map(({ what, at }) => ({ what: `Before: ${what}`, at })),
  ]
  return (
    <Section
      title={`${domain}: ${kindTitle(kind)}`}
      lead={summary}
      actions={<Badge color={isOpen ? 'red' : 'paint'}>{isOpen ? 'Open' : 'Resolved'}</Badge>}
    >
      <Facts rows={times.map(({ what, at }) => [what, <TimeText key={what} at={at} />])} />
      {evidence.pages.length > 0 && (
        <List size="sm">
          {evidence.pages.map(({ path, outcome, detail }) => (
            <List.Item key={path} className="break">
              <Anchor component={Link} href={pagePath(domain, path)} size="sm" underline="always">
                {path}
              </Anchor>
              : {outcome}
              {detail === null || detail === '' ? '' : ` (${detail})`}
            </List.Item>
          ))}
        </List>
      )}
      {isOpen && (
        <Text size="sm">
          <strong>Try first:</strong> {evidence.advice}
        </Text>
      )}
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
