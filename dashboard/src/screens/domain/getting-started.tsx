import { Button, Stack, Text } from '@mantine/core'
import IconCircleCheck from '@tabler/icons-react/dist/esm/icons/IconCircleCheck.mjs'
import IconCircleDashed from '@tabler/icons-react/dist/esm/icons/IconCircleDashed.mjs'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'

import { checklistQuery, isFinished } from '../../api/checklist-query.ts'
import { domainQuery, domainUrl, integrationQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useRights } from '../../api/rights.ts'
import { trafficSummariesQuery } from '../../api/traffic-queries.ts'
import type { Checklist, DomainWithSettings } from '../../api/types.ts'
import { isBehindFront } from '../../installation.ts'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { domainPath, pagePath, ROUTES } from '../../route-map.ts'
import classes from './getting-started.module.css'

export function FirstSteps({ add }: { add: ReactNode }) {
  return (
    <ChecklistFrame>
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
    </ChecklistFrame>
  )
}

/** The same below the list of sites, for the only one of the account. */
export function SiteSteps({ name }: { name: string }) {
  const mayRead = useRights()('getChecklist')
  const { data: domain } = useQuery({ ...domainQuery(name), enabled: mayRead })
  return domain === undefined ? null : <DomainSteps domain={domain} />
}

/** The first steps of a domain, until all are done or somebody hides them. The server keeps what is done. */
export function DomainSteps({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const may = useRights()
  const { data: checklist } = useQuery(checklistQuery(name))
  const hide = useMutation({
    mutationFn: () => request('PUT', `${domainUrl(name)}/checklist`, { body: { is_hidden: true } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: checklistQuery(name).queryKey }),
    onError: (error) => notifyFailed('The steps stay', error),
  })
  if (checklist === undefined || isFinished(checklist)) return null
  const isDone = (item: Checklist['items'][number]['item']) =>
    checklist.items.some((each) => each.item === item && each.done_at !== null)
  // Once crawlers come, what is done needs no explanation any more.
  const isBrief = isDone('crawler')
  return (
    <ChecklistFrame onHide={may('hideChecklist') ? () => hide.mutate() : undefined}>
      <Step
        title="See a page as a crawler sees it"
        isDone={isDone('rendered')}
        isBrief={isBrief}
        action={may('refresh') && <RenderHomePage domain={name} isCached={isDone('rendered')} />}
      >
        Before any change: compare the rendered page with the page for people.
      </Step>
      <RequestsStep domain={domain} isDone={isDone('requests')} isBrief={isBrief} />
      <Step
        title="First crawler visit"
        isDone={isDone('crawler')}
        isBrief={isBrief}
        action={
          <Button
            {...BUTTON}
            component={Link}
            href={domainPath('domainTraffic', name)}
            children="Open the traffic"
          />
        }
      >
        {isDone('crawler') ? <LastCrawler domain={name} /> : CRAWLER_NOTE}
      </Step>
      <Step
        title="Have somebody told of trouble"
        isDone={isDone('notified')}
        isBrief={isBrief}
        action={
          may('putNotifications') && (
            <Button {...BUTTON} component={Link} href={ROUTES.notifications} children="Open notifications" />
          )
        }
      >
        By e-mail, or by an event to a program of yours or to Slack.
      </Step>
      <Step
        title="Invite your team"
        isDone={isDone('team')}
        isBrief={isBrief}
        action={
          may('inviteMember') && (
            <Button {...BUTTON} component={Link} href={ROUTES.members} children="Open members" />
          )
        }
      >
        Each person has a role, from a client who only looks to an owner.
      </Step>
    </ChecklistFrame>
  )
}

/** How requests come here: by the DNS, or by a front of the site. */
function RequestsStep(props: { domain: DomainWithSettings; isDone: boolean; isBrief: boolean }) {
  const { domain, isDone, isBrief } = props
  const { data } = useQuery(integrationQuery(domain.custom_domain))
  const isBehind = isBehindFront({ way: domain.settings.way, state: data?.state ?? 'not_seen' })
  if (isBehind) {
    return (
      <Step
        title="Add the middleware"
        isDone={isDone}
        isBrief={isBrief}
        action={<Button {...BUTTON} component="a" href={connectPath(domain)} children="Show the file" />}
      >
        One file of your web server, CDN or application. This step is done once it sends a request.
      </Step>
    )
  }
  return (
    <Step
      title="Point the DNS here"
      isDone={isDone}
      isBrief={isBrief}
      action={<Button {...BUTTON} component="a" href={connectPath(domain)} children="Show the record" />}
    >
      One record at your DNS provider. This step is done once a request arrives. You can also keep the DNS and
      add a middleware.
    </Step>
  )
}

/** The place of the instructions on the overview. */
function connectPath({ custom_domain: name }: DomainWithSettings): string {
  return `${domainPath('domain', name)}#connect`
}

function LastCrawler({ domain }: { domain: string }) {
  const { data } = useQuery(trafficSummariesQuery)
  const crawler = data?.find((each) => each.domain === domain)?.last_crawler ?? null
  return crawler === null ? 'A crawler has visited.' : visitText(crawler.name)
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

function ChecklistFrame({ onHide, children }: { onHide?: (() => void) | undefined; children: ReactNode }) {
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

function Step(props: {
  title: string
  isDone: boolean
  /** Only the title is left once it is done. */
  isBrief?: boolean
  action?: ReactNode
  children: ReactNode
}) {
  const { title, isDone, isBrief = false, action } = props
  const isTitle = isBrief && isDone
  const Icon = isDone ? IconCircleCheck : IconCircleDashed
  return (
    <li className={classes.step} data-done={isDone || undefined} data-brief={isTitle || undefined}>
      <span role="img" aria-label={isDone ? 'Done' : 'To do'} className={classes.icon}>
        <Icon size={22} stroke={1.75} aria-hidden />
      </span>
      <Stack gap={0} flex={1} miw={200}>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        {!isTitle && <Note>{props.children}</Note>}
      </Stack>
      {!isTitle && action}
    </li>
  )
}
