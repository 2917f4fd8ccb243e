// biome-ignore-all lint/a11y/noNoninteractiveTabindex: boxes that scroll must be reachable by keyboard.
import { Alert, Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { dnsQuery, domainUrl, integrationQuery, siteTokenQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Integration } from '../../api/types.ts'
import { CopyField, useCopying } from '../../parts/copy-field.tsx'
import { Note } from '../../parts/page.tsx'
import { Refusal } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { frontCommand, localCommand } from './dns-records.ts'
import {
  apiAddress,
  appAddress,
  type Filling,
  filledSnippet,
  hasTokenInCode,
  placeholdersIn,
} from './fill-snippet.ts'
import { FRONT_GROUPS, type FrontGuide } from './front-files.ts'
import classes from './front-setup.module.css'
import { SeenDot } from './seen-dot.tsx'

const GUIDES = FRONT_GROUPS.flatMap(({ guides }) => guides)

/** Leads from the choice of a front to the first request of a crawler that it sends. `check`: absent if it stands above. */
export default function FrontSetup({ domain, check }: { domain: DomainWithSettings; check?: ReactNode }) {
  const name = domain.custom_domain
  const [guideName, setGuideName] = useState(GUIDES[0]!.name)
  const guide = GUIDES.find((each) => each.name === guideName) ?? GUIDES[0]!
  const [token, setToken] = useState<string | null>(null)
  const edge = useEdgeAddress(name)
  const [typed, setTyped] = useState<Partial<Filling>>({})
  const needed = placeholdersIn(guide.text)
  const needsToken = guide.way === 'middleware'
  const isTokenInFile = hasTokenInCode(guide.text)
  const filling: Filling = {
    domain: name,
    // Never in a comment, which would be committed with the file.
    token: isTokenInFile ? token : null,
    app: typed.app ?? appAddress(domain.origin_url),
    api: typed.api ?? (guide.kind === 'program' ? location.origin : apiAddress(location)),
    edge: typed.edge ?? edge,
  }
  const change = (values: Partial<Filling>) => setTyped({ ...typed, ...values })
  return (
    <Stack gap="lg">
      <FrontChoice
        chosen={guide.name}
        onChange={(next) => {
          setGuideName(next)
          // The same field asks for a URL or for host and port.
          setTyped({ ...typed, api: undefined })
        }}
      />
      <Step at={1} title={needsToken ? 'Create the site token' : 'No key is needed'}>
        {needsToken ? (
          <SiteToken domain={name} created={token} isInFile={isTokenInFile} onCreated={setToken} />
        ) : (
          <Note size="sm">
            {guide.name} passes crawlers’ requests to the edge of Prepaint, which finds the domain by its
            name.
          </Note>
        )}
      </Step>
      <Step at={2} title="Add this file to the configuration of your server or app">
        <Addresses guide={guide} needed={needed} filling={filling} onChange={change} />
        <Snippet file={guide.file.replace('DOMAIN', name)} text={filledSnippet(guide.text, filling)} />
        <Note size="sm">
          {guide.place !== undefined && <>Save it in {guide.place}. </>}
          The whole guide is <code>docs/integrations/{guide.page}.md</code> of the source code. It says what
          crawlers get when Prepaint is away.
        </Note>
      </Step>
      <Step at={3} title="See that it works">
        <FirstRequest domain={name} guide={guide} check={check} />
      </Step>
    </Stack>
  )
}

function FrontChoice({ chosen, onChange }: { chosen: string; onChange: (name: string) => void }) {
  return (
    <Radio.Group label="What receives your visitors first?" value={chosen} onChange={onChange}>
      <Stack gap="xs" mt="xs">
        {FRONT_GROUPS.map(({ title, guides }) => (
          <div key={title} className={classes.group}>
            <Text size="xs" className="quiet">
              {title}
            </Text>
            <Group gap="xs">
              {guides.map(({ name }) => (
                <Radio.Card key={name} value={name} className={classes.front}>
                  {name}
                </Radio.Card>
              ))}
            </Group>
          </div>
        ))}
      </Stack>
    </Radio.Group>
  )
}

function Step({ at, title, children }: { at: number; title: string; children: React.ReactNode }) {
  return (
    <section className={classes.step} aria-label={title}>
      <span className={classes.number} aria-hidden>
        {at}
      </span>
      <Stack gap="sm" miw={0}>
        <Text fw={600} size="sm" lh="1.5rem">
          {title}
        </Text>
        {children}
      </Stack>
    </section>
  )
}

function SiteToken(props: {
  domain: string
  created: string | null
  isInFile: boolean
  onCreated: (token: string) => void
}) {
  const { domain, created, isInFile, onCreated } = props
  const known = useQuery(siteTokenQuery(domain))
  const create = useMutation({
    mutationFn: () => request<{ token: string }>('POST', `${domainUrl(domain)}/site-token`, { body: {} }),
    onSuccess: ({ token }) => {
      onCreated(token)
      return known.refetch()
    },
  })
  if (created !== null && !isInFile) {
    return (
      <Alert color="paint" p="sm" role="status">
        <Stack gap="xs">
          <Text size="sm">
            Copy the token now: it is shown only once. Set it as PREPAINT_KEY in the environment of your app,
            or as a secret of your platform. Do not commit it.
          </Text>
          <CopyField label="PREPAINT_KEY" value={created} />
        </Stack>
      </Alert>
    )
  }
  if (created !== null) {
    return (
      <Alert color="paint" p="sm" role="status">
        The token is in the file below. Copy the file now: the token is shown only once.
      </Alert>
    )
  }
  const { data } = known
  return (
    <Stack gap="xs">
      <Note size="sm">
        The key of this site’s front. It is good for pages of {domain} and for nothing else.
        {data != null && (
          <>
            {' '}
            There is one, created <TimeText at={data.created_at} />, last used{' '}
            <TimeText at={data.last_used_at} />. If you create another one, it stays valid for 7 days.
          </>
        )}
      </Note>
      <Refusal error={create.error} />
      <Group>
        <Button
          size="xs"
          variant={data == null ? 'filled' : 'default'}
          loading={create.isPending}
          onClick={() => create.mutate()}
        >
          {data == null ? 'Create site token' : 'Create another site token'}
        </Button>
      </Group>
    </Stack>
  )
}

function Addresses(props: {
  guide: FrontGuide
  needed: ReadonlySet<keyof Filling>
  filling: Filling
  onChange: (values: Partial<Filling>) => void
}) {
  const { guide, needed, filling, onChange } = props
  const fields = [
    { name: 'app', label: 'Your app', description: 'Where it answers people' },
    {
      name: 'api',
      label: 'API of Prepaint',
      description: guide.kind === 'program' ? 'Its URL' : 'Host and port, without TLS',
    },
    { name: 'edge', label: 'Edge of Prepaint', description: 'Host and port, without TLS' },
  ] as const
  return (
    <div className={classes.addresses}>
      {fields.map(
        ({ name, label, description }) =>
          needed.has(name) && (
            <TextInput
              key={name}
              size="xs"
              label={label}
              description={description}
              autoComplete="off"
              spellCheck={false}
              value={filling[name]}
              onChange={(event) => onChange({ [name]: event.currentTarget.value.trim() })}
            />
          ),
      )}
    </div>
  )
}

function Snippet({ file, text }: { file: string; text: string }) {
  const { said, copy } = useCopying(text)
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={500} ff="monospace">
          {file}
        </Text>
        <Group gap="xs">
          <Note role="status">{said}</Note>
          <Button size="compact-xs" variant="default" onClick={copy}>
            Copy the file
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => download(file, text)}>
            Download
          </Button>
        </Group>
      </Group>
      <section className={classes.snippet} tabIndex={0} aria-label={`The file ${file}`}>
        <pre className="code-block">{text}</pre>
      </section>
    </Stack>
  )
}

function download(file: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  // The file alone, where it belongs into a folder.
  link.download = file.slice(file.lastIndexOf('/') + 1)
  link.click()
  URL.revokeObjectURL(url)
}

/** Turns green by itself once the front has sent a crawler. */
function FirstRequest(props: { domain: string; guide: FrontGuide; check: ReactNode }) {
  const { domain, guide, check } = props
  const { data } = useQuery(integrationQuery(domain))
  return (
    <>
      <Arrival seen={data?.ways[guide.way] ?? null} front={guide.name} />
      {guide.place !== undefined && (
        <CopyField label="Before it is live, on the server itself" value={localCommand(domain)} />
      )}
      <CopyField label="Ask your site as a crawler" value={frontCommand(domain)} />
      <Note size="sm">
        The answer has <code>X-Prepaint: rendered</code>, later <code>hit</code>.
        {check === undefined && ' Or use “Check now” above, which needs no terminal.'}
      </Note>
      {check}
    </>
  )
}

function Arrival({ seen, front }: { seen: Integration['ways'][FrontGuide['way']]; front: string }) {
  return (
    <Group gap="xs" role="status" className={classes.arrival} data-seen={seen !== null || undefined}>
      <SeenDot isSeen={seen !== null} />
      {seen === null ? (
        <Text size="sm">Waiting for the first crawler that {front} sends …</Text>
      ) : (
        <Text size="sm" fw={600} className="break">
          It works: {seen.crawler} came for {seen.path}, <TimeText at={seen.last_at} />
        </Text>
      )}
    </Group>
  )
}

/** Where fronts reach the edge: at the operator's target, else at the host of the dashboard. */
function useEdgeAddress(domain: string): string {
  const { data } = useQuery(dnsQuery(domain))
  const host = data?.target?.host ?? data?.target?.addresses[0] ?? location.hostname
  return `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${data?.edge_port ?? 80}`
}
