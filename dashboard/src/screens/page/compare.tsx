// biome-ignore-all lint/a11y/noNoninteractiveTabindex: boxes that scroll must be reachable by keyboard.

import { Alert, Anchor, Button, Loader, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { domainUrl, inspectionQuery, isUnderWay } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useRights } from '../../api/rights.ts'
import type { Inspection } from '../../api/types.ts'
import { count, counted, milliseconds } from '../../format.ts'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { DifferenceList } from './history.tsx'
import classes from './inspection.module.css'
import type { ViewProps } from './inspection.tsx'
import { type RuleChanges, ruleChangeWords } from './rule-changes.ts'

type Side = NonNullable<Inspection['crawler']>

export function Compare({ domain, page }: ViewProps) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const { inspection } = page
  const inspect = useMutation({
    mutationFn: () =>
      request('POST', `${domainUrl(name)}/inspections`, { body: { path: page.path, variant: page.variant } }),
    onSuccess: () =>
      queries.invalidateQueries({ queryKey: inspectionQuery(name, page.path, page.variant).queryKey }),
    onError: (error) => notifyFailed('The inspection did not start', error),
  })
  const may = useRights()
  const button = may('createInspection') && (
    <Button loading={inspect.isPending} disabled={isUnderWay(inspection)} onClick={() => inspect.mutate()}>
      {inspection === null ? 'Inspect now' : 'Inspect again'}
    </Button>
  )
  if (inspection === null) {
    return (
      <div className="sheet">
        <Empty title="Not inspected today" action={button}>
          Both versions appear here side by side, with their differences. A browser opens the cached page
          without scripts, loads the page from the origin like a visitor, and takes a screenshot of each. This
          does not count as a render.
        </Empty>
      </div>
    )
  }
  const { crawler, person } = inspection
  return (
    <Stack gap="lg">
      <Section
        title="Screenshots"
        lead={
          <>
            {isUnderWay(inspection) ? 'Requested ' : 'Taken '}
            <TimeText at={inspection.requested_at} />
          </>
        }
        actions={button}
      >
        <Screenshots name={name} inspection={inspection} />
      </Section>
      <ChangedByRule changes={page.stored?.changed_by_rule ?? null} />
      {crawler?.facts != null && person?.facts != null && (
        <Section
          title="Differences"
          lead="The page for people is loaded once, in real time: content that changes every second differs too."
        >
          <DifferenceList before={crawler.facts} after={person.facts} names={['Crawlers', 'People']} />
        </Section>
      )}
    </Stack>
  )
}

/** Differences that the owner made are not mistakes of a render. */
function ChangedByRule({ changes }: { changes: RuleChanges | null }) {
  if (changes === null) return null
  const words = ruleChangeWords(changes)
  return (
    <Alert color="yellow" title={`Rule ${changes.rule + 1} changes this page for crawlers`}>
      {words.length === 0 ? 'The rule found nothing to change on this page.' : `${words.join('; ')}.`}
    </Alert>
  )
}

/** Both versions side by side, or why they are not there yet. */
export function Screenshots({ name, inspection }: { name: string; inspection: Inspection }) {
  const { state, reason, crawler, person } = inspection
  if (isUnderWay(inspection)) {
    return (
      <Text size="sm" role="status" component="div" className={classes.looking}>
        <Loader size="xs" aria-hidden />
        {state === 'queued'
          ? 'Queued until a node with a browser is free.'
          : 'A browser is loading both versions. This takes a few seconds.'}
      </Text>
    )
  }
  if (state === 'failed') {
    return <Alert color="yellow">{reason ?? 'The inspection failed without a reason. Inspect again.'}</Alert>
  }
  if (person === null) {
    return <Note size="sm">The result was deleted because of its age. Inspect again.</Note>
  }
  return (
    <div className={classes.sides}>
      <Screenshot title="For crawlers" picture="crawler" name={name} inspection={inspection} side={crawler} />
      <Screenshot title="For people" picture="person" name={name} inspection={inspection} side={person} />
    </div>
  )
}

function Screenshot(props: {
  title: string
  picture: 'crawler' | 'person'
  name: string
  inspection: Inspection
  side: Side | null
}) {
  const { title, picture, name, inspection, side } = props
  return (
    <figure className={classes.side}>
      <figcaption>
        <Text fw={600} size="sm">
          {title}
        </Text>
        <Note>{captionOf(side)}</Note>
      </figcaption>
      {side !== null && side.reason === null && (
        <section className={classes.frame} tabIndex={0} aria-label={`Screenshot ${title.toLowerCase()}`}>
          <img
            className={classes.picture}
            src={`${domainUrl(name)}/inspections/${inspection.id}/${picture}`}
            alt={`${title}: ${inspection.path}`}
          />
        </section>
      )}
      {side !== null && side.reason !== null && <Alert color="yellow">{side.reason}</Alert>}
      <RedirectedTo url={side?.url ?? null} expected={`https://${name}${inspection.path}`} />
      {side !== null && side.consoleErrors.count > 0 && (
        <details>
          <summary>Console errors: {count(side.consoleErrors.count)}</summary>
          <pre className="code-block">{side.consoleErrors.texts.join('\n')}</pre>
        </details>
      )}
    </figure>
  )
}

const URL_CHARS = 200

function RedirectedTo({ url, expected }: { url: string | null; expected: string }) {
  if (url === null || url === expected || !/^https?:/.test(url)) return null
  return (
    <Text size="xs" className="break">
      Redirected to{' '}
      <Anchor href={url} target="_blank" rel="noopener noreferrer">
        {url.slice(0, URL_CHARS)}
      </Anchor>
    </Text>
  )
}

function captionOf(side: Side | null): string {
  if (side === null) return 'no cached page'
  if (side.reason !== null) return 'could not be loaded'
  const { status, loadedMs, requests, isCut } = side
  const words = [
    status === null ? 'no response' : `status ${status}`,
    loadedMs === null ? 'did not finish loading' : `loaded in ${milliseconds(loadedMs)}`,
    counted(requests.made, 'request'),
  ]
  if (requests.failed > 0) words.push(`${count(requests.failed)} failed`)
  if (isCut) words.push('cut at the bottom')
  return words.join(', ')
}
