import { Button, Stack, Text } from '@mantine/core'
import IconCircleCheck from '@tabler/icons-react/dist/esm/icons/IconCircleCheck.mjs'
import IconCircleDashed from '@tabler/icons-react/dist/esm/icons/IconCircleDashed.mjs'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'

import { dnsQuery, integrationQuery, pageCountQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { trafficSummariesQuery } from '../../api/traffic-queries.ts'
import type { DomainWithSettings } from '../../api/types.ts'
import { isBehindFront } from '../../installation.ts'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { domainPath, pagePath } from '../../route-map.ts'
import classes from './getting-started.module.css'

export function FirstSteps({ add }: { add: ReactNode }) {
  return (
    <Checklist>
      <Step title="Add a domain" isDone={false} action={add}>
        Enter the domain that visitors use and the server of your site. Crawlers then get rendered pages;
        people get your site, unchanged.
      </Step>
      <Step title="See a page as a crawler sees it" isDone={false}>
        Before any change: compare the rendered page with the page for people.
      </Step>
      <Step title="Send crawlers here" isDone={false}>
        By one record at your DNS provider, or by the web server, CDN or application that you have.
      </Step>
      <Step title="First crawler visit" isDone={false}>
        {CRAWLER_NOTE}
      </Step>
    </Checklist>
  )
}

export function DomainSteps({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const [isHidden, setHidden] = useState(() => readHidden(name))
  const pages = useQuery(pageCountQuery(name))
  const integration = useQuery(integrationQuery(name))
  const state = integration.data?.state ?? 'not_seen'
  const isBehind = isBehindFront({ way: domain.settings.way, state })
  const dns = useQuery({ ...dnsQuery(name), enabled: !isBehind })
  const summaries = useQuery(trafficSummariesQuery)
  const crawler = summaries.data?.find(({ domain }) => domain === name)?.last_crawler ?? null
  // A site behind a front needs no certificate here: its steps end with the first crawler.
  const isLoaded = integration.data !== undefined && summaries.data !== undefined
  const isSetUp = isBehind && (!isLoaded || (state !== 'not_seen' && crawler !== null))
  if (isHidden || isSetUp) return null
  return (
    <Checklist
      onHide={() => {
        setHidden(true)
        hide(name)
      }}
    >
      <Step title="Add a domain" isDone>
        {name} was added.
      </Step>
      <Step
        title="See a page as a crawler sees it"
        isDone={(pages.data ?? 0) > 0}
        action={<RenderHomePage domain={name} isCached={(pages.data ?? 0) > 0} />}
      >
        Before any change: compare the rendered page with the page for people.
      </Step>
      {!isBehind ? (
        <Step
          title="Point the DNS here"
          isDone={dns.data?.state === 'reaches-us' || state === 'proxy'}
          action={<Button {...BUTTON} component="a" href="#connect" children="Show the record" />}
        >
          One record at your DNS provider. The check is repeated every 20 seconds. You can also keep the DNS
          and add a middleware.
        </Step>
      ) : (
        <Step
          title="Add the middleware"
          isDone={state !== 'not_seen'}
          action={<Button {...BUTTON} component="a" href="#connect" children="Show the file" />}
        >
          One file of your web server, CDN or application. This step is done once it sends a crawler.
        </Step>
      )}
      <Step
        title="First crawler visit"
        isDone={crawler !== null}
        action={
          <Button
            {...BUTTON}
            component={Link}
            href={domainPath('domainTraffic', name)}
            children="Open the traffic"
          />
        }
      >
        {crawler === null ? CRAWLER_NOTE : visitText(crawler.name)}
      </Step>
    </Checklist>
  )
}

const CRAWLER_NOTE = 'Appears here seconds after it happens.'

/** Traffic counts crawlers without a known name as `other`. */
function visitText(name: string): string {
  return name === 'other' ? 'A crawler of an unknown kind has visited.' : `${name} has visited.`
}

const BUTTON = { variant: 'default', size: 'xs' } as const

function RenderHomePage({ domain, isCached }: { domain: string; isCached: boolean }) {
  const [, navigate] = useLocation()
  const render = useMutation({
    mutationFn: async () => {
      if (!isCached) await request('POST', '/api/cache/refresh', { body: { domain, paths: ['/'] } })
    },
    onSuccess: () => navigate(pagePath(domain, '/')),
    onError: (error) => notifyFailed('The home page was not rendered', error),
  })
  return (
    <Button {...BUTTON} loading={render.isPending} onClick={() => render.mutate()}>
      {isCached ? 'Open the home page' : 'Render the home page'}
    </Button>
  )
}

function Checklist({ onHide, children }: { onHide?: () => void; children: ReactNode }) {
  return (
    <Section
      title="Getting started"
      actions={
        onHide && (
          <Button variant="subtle" size="xs" onClick={onHide}>
            Hide
          </Button>
        )
      }
    >
      <ol className={classes.steps}>{children}</ol>
    </Section>
  )
}

function Step(props: { title: string; isDone: boolean; action?: ReactNode; children: ReactNode }) {
  const { title, isDone, action } = props
  const Icon = isDone ? IconCircleCheck : IconCircleDashed
  return (
    <li className={classes.step} data-done={isDone || undefined}>
      <span role="img" aria-label={isDone ? 'Done' : 'To do'} className={classes.icon}>
        <Icon size={22} stroke={1.75} aria-hidden />
      </span>
      <Stack gap={0} flex={1} miw={200}>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <Note>{props.children}</Note>
      </Stack>
      {action}
    </li>
  )
}

const keyOf = (domain: string) => `getting-started-hidden ${domain}`

function readHidden(domain: string): boolean {
  // The browser may disable storage.
  try {
    return localStorage.getItem(keyOf(domain)) !== null
  } catch {
    return false
  }
}

function hide(domain: string): void {
  try {
    localStorage.setItem(keyOf(domain), '1')
  } catch {
    // Hidden until the next visit.
  }
}
