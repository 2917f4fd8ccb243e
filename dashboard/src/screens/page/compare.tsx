// biome-ignore-all lint/a11y/noNoninteractiveTabindex: what scrolls must be scrolled by keyboard, too.
import { Alert, Anchor, Button, Loader, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { domainUrl, isUnderWay, lensQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Inspection } from '../../api/types.ts'
import { sayFailed } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { count } from '../../parts/usage-bar.tsx'
import { DifferenceList } from './difference-list.tsx'
import classes from './inspection.module.css'
import type { LensPart } from './inspection.tsx'

type Side = NonNullable<Inspection['crawler']>

/** What crawlers get and what a person gets, side by side, and what differs. */
export function LensCompare({ domain, lens }: LensPart) {
  const name = domain.custom_domain
  const queries = useQueryClient()
  const { inspection } = lens
  const look = useMutation({
    mutationFn: () => request('POST', `${domainUrl(name)}/inspections`, { body: { path: lens.path } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: lensQuery(name, lens.path).queryKey }),
    onError: (error) => sayFailed('Nobody looks', error),
  })
  const isLooking = isUnderWay(inspection)
  const button = (
    <Button loading={look.isPending} disabled={isLooking} onClick={() => look.mutate()}>
      {inspection === null ? 'Look now' : 'Look again'}
    </Button>
  )
  if (inspection === null) {
    return (
      <div className="sheet">
        <Empty title="Nobody has looked today" action={button}>
          A browser shows the stored page without scripts, loads the page from the origin as a person does,
          and takes a picture of both. It counts as no render.
        </Empty>
      </div>
    )
  }
  const { crawler, person } = inspection
  return (
    <Stack gap="lg">
      <Section
        title="Pictures"
        lead={
          <>
            {isLooking ? 'Asked for ' : 'Taken '}
            <TimeText at={inspection.requested_at} />
            {inspection.state === 'queued' && ', waits for a node that renders'}
          </>
        }
        actions={button}
      >
        {isLooking ? (
          <Text size="sm" role="status" component="div" className={classes.looking}>
            <Loader size="xs" aria-hidden />
            {inspection.state === 'queued'
              ? 'It is queued.'
              : 'A browser looks at both. This takes some seconds.'}
          </Text>
        ) : inspection.state === 'failed' ? (
          <Alert color="yellow">{inspection.reason ?? 'It failed.'}</Alert>
        ) : person === null ? (
          <Text size="sm" className="quiet">
            What was found then is no longer kept.
          </Text>
        ) : (
          <div className={classes.sides}>
            <Picture of="crawler" title="Crawlers get" {...{ name, inspection }} side={crawler} />
            <Picture of="person" title="People get" {...{ name, inspection }} side={person} />
          </div>
        )}
      </Section>
      {crawler?.facts != null && person?.facts != null && (
        <Section
          title="Differences"
          lead="A person’s page is loaded in real time, once: what changes by the second differs too."
        >
          <DifferenceList before={crawler.facts} after={person.facts} names={['Crawlers', 'People']} />
        </Section>
      )}
    </Stack>
  )
}

function Picture(props: {
  of: 'crawler' | 'person'
  title: string
  name: string
  inspection: Inspection
  side: Side | null
}) {
  const { of, title, name, inspection, side } = props
  return (
    <figure className={classes.side}>
      <figcaption>
        <Text fw={600} size="sm">
          {title}
        </Text>
        <Text size="xs" className="quiet" component="div">
          {side === null ? (
            'nothing of ours: the page is not stored'
          ) : side.reason === null ? (
            <>
              {side.status ?? 'no answer'}
              {side.loadedMs === null ? ', never quite loaded' : `, loaded in ${count(side.loadedMs)} ms`},{' '}
              {count(side.requests.made)} requests
              {side.requests.failed > 0 && `, ${count(side.requests.failed)} failed`}
              {side.isCut && ', goes on below'}
            </>
          ) : (
            'could not be loaded'
          )}
        </Text>
      </figcaption>
      {side !== null && side.reason === null && (
        <section
          className={classes.frame}
          tabIndex={0}
          aria-label={`What ${of === 'crawler' ? 'crawlers' : 'people'} get`}
        >
          <img
            className={classes.picture}
            src={`${domainUrl(name)}/inspections/${inspection.id}/${of}`}
            alt={`${title}: ${inspection.path}`}
          />
        </section>
      )}
      {side !== null && side.reason !== null && <Alert color="yellow">{side.reason}</Alert>}
      {side?.url != null && /^https?:/.test(side.url) && side.url !== `https://${name}${inspection.path}` && (
        <Text size="xs" className="break">
          It has led to{' '}
          <Anchor href={side.url} target="_blank" rel="noopener noreferrer">
            {side.url.slice(0, 200)}
          </Anchor>
        </Text>
      )}
      {side !== null && side.consoleErrors.count > 0 && (
        <details>
          <summary>Errors on the console: {count(side.consoleErrors.count)}</summary>
          <pre className="code-block">{side.consoleErrors.texts.join('\n')}</pre>
        </details>
      )}
    </figure>
  )
}
