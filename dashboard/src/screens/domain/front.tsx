import { Button, Group, Stack, Text } from '@mantine/core'
import type { IntegrationCheck } from '@prepaint/contract/api/fronts.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useState } from 'react'

import { domainUrl, integrationQuery, integrationsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Integration } from '../../api/types.ts'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Facts, Section } from '../../parts/page.tsx'
import { Loaded, Loading } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { DnsInstructions } from './dns.tsx'
import classes from './front.module.css'
import { SeenDot } from './seen-dot.tsx'
import { useWay } from './use-way.ts'
import { WayChoice } from './way-choice.tsx'

const FrontSetup = lazy(() => import('./front-setup.tsx'))

const WAITING_POLL_MS = 1_500
const SEEN_POLL_MS = 10_000

/** By which way crawlers come to the domain, with a check, and how to change that. */
export function FrontSection({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const found = useQuery({
    ...integrationQuery(name),
    refetchInterval: ({ state }) => (state.data?.state === 'not_seen' ? WAITING_POLL_MS : SEEN_POLL_MS),
  })
  return (
    <div id="connect">
      <Section
        title="How crawlers come"
        lead="By the DNS, or sent by the site's own web server, CDN or application."
      >
        <Loaded query={found} rows={3}>
          {(integration) => (
            <>
              <FrontState integration={integration} />
              <CheckNow domain={name} />
              <Connection domain={domain} isSeen={integration.state !== 'not_seen'} />
            </>
          )}
        </Loaded>
      </Section>
    </div>
  )
}

function FrontState({ integration: { state, ways, refused } }: { integration: Integration }) {
  const rows: [string, ReactNode][] = []
  for (const [label, seen] of [
    ['Requests themselves', ways.proxy],
    ['Asked by a front', ways.middleware],
  ] as const) {
    if (seen === null) continue
    rows.push([
      label,
      <span key={label} className="break">
        {seen.crawler} asked for {seen.path}, <TimeText at={seen.last_at} />; {seen.visits_24h} in 24 hours
        {seen.int_type === null ? '' : `; ${seen.int_type} ${seen.int_version ?? ''}`}
      </span>,
    ])
  }
  if (refused !== null) {
    rows.push([
      'Refused',
      <span key="refused" className="break">
        {refused.count} in 24 hours, last <TimeText at={refused.last_at} />: {refused.reason}
      </span>,
    ])
  }
  return (
    <Stack gap="sm">
      <Group gap="xs" role="status" wrap="nowrap" className={classes.state}>
        <SeenDot isSeen={state !== 'not_seen'} />
        <Text size="sm" fw={600}>
          {stateText(state, ways)}
        </Text>
      </Group>
      {rows.length > 0 && <Facts rows={rows} />}
    </Stack>
  )
}

function stateText(state: Integration['state'], ways: Integration['ways']): string {
  switch (state) {
    case 'proxy': {
      const front = ways.proxy?.int_type ?? null
      return front === null
        ? 'Crawlers’ requests come here themselves'
        : `Requests come through your ${front}`
    }
    case 'middleware': {
      const front = ways.middleware?.int_type ?? null
      return front === null ? 'Your site’s front asks for pages' : `Your ${front} asks for pages`
    }
    case 'not_seen':
      return ways.proxy === null && ways.middleware === null
        ? 'No crawler has come yet'
        : 'No crawler came in the last 7 days'
  }
}

function CheckNow({ domain }: { domain: string }) {
  const queries = useQueryClient()
  const check = useMutation({
    mutationFn: () =>
      request<{ check: IntegrationCheck }>('POST', `${domainUrl(domain)}/integration/check`, { body: {} }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: integrationQuery(domain).queryKey })
      await queries.invalidateQueries({ queryKey: integrationsQuery.queryKey })
    },
    onError: (error) => notifyFailed('The site could not be checked', error),
  })
  return (
    <Group gap="sm">
      <Button variant="default" size="xs" loading={check.isPending} onClick={() => check.mutate()}>
        Check now
      </Button>
      <Text size="sm" role="status" className={check.data === undefined ? 'quiet' : 'break'}>
        {check.data === undefined
          ? 'Asks your site for its home page, as Googlebot does.'
          : checkWords(check.data.check)}
      </Text>
    </Group>
  )
}

const REASONS: Record<NonNullable<IntegrationCheck['reason']>, string> = {
  'answer-lost':
    'The request arrived, but another answer came back: there is a cache between, or the front did not wait.',
  refused: 'The request arrived and was refused: check the token in the front’s configuration.',
  'not-forwarded': 'The site answered itself and sent nothing here.',
  unresolvable: 'The name has no address in the DNS.',
  'refused-address': 'The name leads to an address that is not public.',
  unreachable: 'The site does not accept connections.',
  tls: 'The certificate of the site is not good for its name.',
  'timed-out': 'The site did not answer in 10 seconds.',
  redirect: 'The site redirects to another place.',
}

function checkWords({ reason, detail }: IntegrationCheck): string {
  if (reason === null) return 'A request as a crawler arrived here, and our page came back.'
  return detail === null ? REASONS[reason] : `${REASONS[reason]} (${detail})`
}

/** The choice of the way, and its instructions, which are folded once crawlers come. */
function Connection({ domain, isSeen }: { domain: DomainWithSettings; isSeen: boolean }) {
  const name = domain.custom_domain
  const [wasOpened, setOpened] = useState<boolean | null>(null)
  const isOpen = wasOpened ?? !isSeen
  const { way, isBusy, choose } = useWay(domain)
  if (!isOpen) {
    return (
      <Group>
        <Button variant="subtle" size="xs" onClick={() => setOpened(true)}>
          Show the instructions
        </Button>
      </Group>
    )
  }
  return (
    <Stack gap="lg">
      <WayChoice
        value={way}
        isBusy={isBusy}
        onChange={(next) => {
          // They stay open while a way is chosen, though a crawler comes.
          setOpened(true)
          choose(next)
        }}
      />
      {way === 'dns' ? (
        <DnsInstructions domain={name} />
      ) : (
        <Suspense fallback={<Loading rows={3} />}>
          <FrontSetup domain={domain} />
        </Suspense>
      )}
    </Stack>
  )
}
