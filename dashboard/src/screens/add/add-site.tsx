import { Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense } from 'react'
import { Link, useLocation, useSearch } from 'wouter'

import { dnsQuery, domainQuery, domainsQuery, integrationQuery, proofQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Domain, DomainWithSettings } from '../../api/types.ts'
import { CopyField } from '../../parts/copy-field.tsx'
import { Form } from '../../parts/form.tsx'
import { Note, Page } from '../../parts/page.tsx'
import { Loaded, Loading, Refusal } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { type AddStep, addPath, domainPath, ROUTES } from '../../route-map.ts'
import { AskedProof } from '../domain/asked-proof.tsx'
import { CheckNow } from '../domain/check-now.tsx'
import { DnsInstructions } from '../domain/dns.tsx'
import { crawlerCommand } from '../domain/dns-records.ts'
import {
  domainProblem,
  originProblem,
  pastedName,
  pastedPath,
  useDomainCheck,
} from '../domain/domain-fields.ts'
import { SeenDot } from '../domain/seen-dot.tsx'
import { useWay } from '../domain/use-way.ts'
import { WayChoice } from '../domain/way-choice.tsx'
import classes from './add-site.module.css'
import { HomePage } from './home-page.tsx'

const FrontSetup = lazy(() => import('../domain/front-setup.tsx'))

const STEPS: readonly { step: AddStep; title: string }[] = [
  { step: 'site', title: 'Site' },
  { step: 'way', title: 'How crawlers reach Prepaint' },
  { step: 'connect', title: 'Connect' },
]

/** Adds a domain in three steps. The address keeps the step, and the domain once it is added. */
export default function AddSite() {
  const query = new URLSearchParams(useSearch())
  const domain = query.get('domain')
  const step =
    domain === null ? 'site' : (STEPS.find((each) => each.step === query.get('step'))?.step ?? 'way')
  return (
    <Page
      title={domain === null ? 'Add a domain' : `Set up ${domain}`}
      above={
        <Anchor component={Link} href={ROUTES.domains} size="sm">
          All sites
        </Anchor>
      }
    >
      <Progress domain={domain} step={step} />
      {domain === null ? <SiteStep /> : <WithDomain name={domain} step={step} />}
    </Page>
  )
}

function Progress({ domain, step }: { domain: string | null; step: AddStep }) {
  const here = STEPS.findIndex((each) => each.step === step)
  return (
    <ol className={classes.steps} aria-label="Steps">
      {STEPS.map((each, at) => {
        const label = (
          <>
            <span className={classes.number} aria-hidden>
              {at + 1}
            </span>
            {each.title}
          </>
        )
        // The site is added once: its step is no form to come back to.
        const isLink = domain !== null && at > 0 && at !== here
        return (
          <li key={each.step} className={classes.step} aria-current={at === here ? 'step' : undefined}>
            {isLink ? (
              <Link href={addPath(domain, each.step)} className={classes.stepLink}>
                {label}
              </Link>
            ) : (
              <span className={classes.stepLink}>{label}</span>
            )}
          </li>
        )
      })}
    </ol>
  )
}

function SiteStep() {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const form = useForm({
    initialValues: { site: '', origin: '' },
    validateInputOnBlur: true,
    validate: {
      site: (site) => domainProblem(pastedName(site)),
      origin: (origin, { site }) => originProblem(origin, pastedName(site)),
    },
  })
  const { site, origin } = form.values
  const name = pastedName(site)
  const leftOut = pastedPath(site)
  const nameCheck = useDomainCheck('custom_domain', name, domainProblem(name) === null)
  const originCheck = useDomainCheck('origin_url', origin, originProblem(origin, name) === null)
  const add = useMutation({
    mutationFn: () =>
      request<{ domain: Domain }>('POST', '/api/domains', {
        body: { custom_domain: name, origin_url: origin.trim() },
      }),
    onSuccess: async ({ domain }) => {
      await queries.invalidateQueries({ queryKey: domainsQuery.queryKey })
      await queries.invalidateQueries({ queryKey: ['portfolio'] })
      navigate(addPath(domain.custom_domain, 'way'), { replace: true })
    },
  })
  const input = { autoComplete: 'off', autoCapitalize: 'off', spellCheck: false, required: true }
  return (
    <div className="sheet">
      <Form sent={add} onSubmit={form.onSubmit(() => add.mutate())}>
        <Stack className="form">
          <TextInput
            label="Address of your site"
            description="As visitors use it. You can paste it from the browser."
            placeholder="https://www.example.com/"
            data-autofocus
            autoFocus
            {...input}
            {...form.getInputProps('site')}
          />
          <CheckResult {...nameCheck} />
          {leftOut !== null && (
            <Note size="sm" role="status">
              A site is all pages of its name: <code>{leftOut}</code> is left out.
            </Note>
          )}
          <TextInput
            label="Origin"
            description="The URL of the server of your site, under a name that will not change"
            placeholder="https://shop.hosting.example"
            {...input}
            {...form.getInputProps('origin')}
          />
          <CheckResult {...originCheck} />
          <Refusal error={add.error} />
          <Group justify="space-between">
            <Button component={Link} href={ROUTES.domains} variant="subtle">
              Do this later
            </Button>
            <Button type="submit" loading={add.isPending}>
              Add the domain
            </Button>
          </Group>
        </Stack>
      </Form>
    </div>
  )
}

/** Always one line high, so that nothing moves. */
function CheckResult({ isChecking, finding }: ReturnType<typeof useDomainCheck>) {
  return (
    <Text
      size="xs"
      role="status"
      mih="1.25rem"
      mt={-8}
      className={finding?.isGood === false ? 'warning' : 'quiet'}
    >
      {isChecking ? 'Checking …' : (finding?.text ?? '')}
    </Text>
  )
}

function WithDomain({ name, step }: { name: string; step: AddStep }) {
  const domain = useQuery(domainQuery(name))
  return (
    <Loaded query={domain}>
      {(data) => (step === 'connect' ? <ConnectStep domain={data} /> : <WayStep domain={data} />)}
    </Loaded>
  )
}

function WayStep({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const { way, isBusy, choose } = useWay(domain)
  const [, navigate] = useLocation()
  return (
    <Stack gap="lg">
      <div className="sheet">
        <WayChoice value={way} isBusy={isBusy} onChange={(chosen) => choose(chosen)} withFacts />
      </div>
      <HomePage domain={name} />
      <Foot name={name}>
        <Button onClick={() => navigate(addPath(name, 'connect'))}>Go on</Button>
      </Foot>
    </Stack>
  )
}

const WAITING_POLL_MS = 1_500

function ConnectStep({ domain }: { domain: DomainWithSettings }) {
  const name = domain.custom_domain
  const { way } = domain.settings
  const { data: integration } = useQuery({ ...integrationQuery(name), refetchInterval: WAITING_POLL_MS })
  const { data: proof } = useQuery(proofQuery(name))
  const seen = integration?.ways[way === 'dns' ? 'proxy' : 'middleware'] ?? null
  return (
    <Stack gap="lg">
      <AskedProof domain={name} />
      <section className="sheet" aria-label="Connect">
        {way === 'dns' ? (
          <Stack gap="lg">
            <DnsInstructions domain={name} hasCommand={false} />
            {proof?.served !== false && <DnsArrival domain={name} seen={seen} />}
          </Stack>
        ) : (
          <Suspense fallback={<Loading rows={3} />}>
            <FrontSetup domain={domain} check={<CheckNow domain={name} />} />
          </Suspense>
        )}
      </section>
      <Foot name={name}>
        {seen !== null && (
          <Button component={Link} href={domainPath('domain', name)}>
            Go to the site
          </Button>
        )}
      </Foot>
    </Stack>
  )
}

type Seen = { crawler: string; path: string; last_at: string } | null

/** Turns green by itself, within two seconds of the first request. */
function DnsArrival({ domain, seen }: { domain: string; seen: Seen }) {
  const { data: dns } = useQuery(dnsQuery(domain))
  return (
    <Stack gap="sm">
      <Group
        gap="xs"
        wrap="nowrap"
        role="status"
        className={classes.arrival}
        data-seen={seen !== null || undefined}
      >
        <SeenDot isSeen={seen !== null} />
        {seen === null ? (
          <Text size="sm">Waiting for the first request… Run this to send one:</Text>
        ) : (
          <Text size="sm" fw={600} className="break">
            It works: {seen.crawler} came for {seen.path}, <TimeText at={seen.last_at} />
          </Text>
        )}
      </Group>
      <CopyField label="Send a request as a crawler" value={crawlerCommand(domain, dns, location.hostname)} />
      <Note size="sm">
        This works before the DNS is changed, too: the command asks this installation directly.
      </Note>
    </Stack>
  )
}

function Foot({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Group justify="space-between">
      <Button component={Link} href={domainPath('domain', name)} variant="subtle">
        Do this later
      </Button>
      {children}
    </Group>
  )
}
