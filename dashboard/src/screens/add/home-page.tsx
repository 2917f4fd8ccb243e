import { Alert, Loader, Text } from '@mantine/core'
import { outcomeWords } from '@prepaint/contract/outcome/words.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { domainUrl, inspectionQuery, isUnderWay } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { PageInspection } from '../../api/types.ts'
import { Section } from '../../parts/page.tsx'
import { Refusal } from '../../parts/states.tsx'
import { Screenshots } from '../page/compare.tsx'
import classes from './home-page.module.css'

const POLL_MS = 1_500

/** Renders the home page, and shows it beside the one of people, before anything is changed for visitors. */
export function HomePage({ domain }: { domain: string }) {
  const page = useQuery({
    ...inspectionQuery(domain, '/'),
    refetchInterval: ({ state }) => (isShown(state.data) ? false : POLL_MS),
  })
  const asked = useRef({ render: false, inspection: false })
  const render = useMutation({
    mutationFn: () => request('POST', '/api/cache/refresh', { body: { domain, paths: ['/'] } }),
  })
  const inspect = useMutation({
    mutationFn: () => request('POST', `${domainUrl(domain)}/inspections`, { body: { path: '/' } }),
    onSuccess: () => page.refetch(),
  })
  const needs = nextOf(page.data)
  const { mutate: startRender } = render
  const { mutate: startInspection } = inspect
  // Once for each visit of the screen.
  useEffect(() => {
    if (needs === 'render' && !asked.current.render) {
      asked.current.render = true
      startRender()
    }
    if (needs === 'inspection' && !asked.current.inspection) {
      asked.current.inspection = true
      startInspection()
    }
  }, [needs, startRender, startInspection])
  return (
    <Section
      title="Your home page, for crawlers and for people"
      lead="Rendered now, before anything changes for visitors."
    >
      <Refusal error={render.error ?? inspect.error} />
      {page.data !== undefined && <Shown domain={domain} page={page.data} />}
      {page.data === undefined && <Wait text="Rendering the home page…" />}
    </Section>
  )
}

function Shown({ domain, page }: { domain: string; page: PageInspection }) {
  const { inspection } = page
  if (inspection !== null && !isUnderWay(inspection))
    return <Screenshots name={domain} inspection={inspection} />
  const failed = failureOf(page)
  if (failed !== null) {
    return (
      <Alert color="yellow">
        The home page could not be rendered: {failed}. You can go on; crawlers get your site as it is until it
        can.
      </Alert>
    )
  }
  if (page.stored === null && page.redirect !== null) {
    return (
      <Text size="sm">
        Your home page redirects to {page.redirect.location}. Crawlers get the redirect, too.
      </Text>
    )
  }
  return (
    <Wait
      text={
        page.stored === null
          ? 'Rendering the home page…'
          : 'Taking pictures of both versions. This takes a few seconds.'
      }
    />
  )
}

function Wait({ text }: { text: string }) {
  return (
    <Text size="sm" role="status" component="div" className={classes.wait}>
      <Loader size="xs" aria-hidden />
      {text}
    </Text>
  )
}

/** What has to be asked for next; null: nothing. */
function nextOf(page: PageInspection | undefined): 'render' | 'inspection' | null {
  if (page === undefined || page.inspection !== null || page.redirect !== null) return null
  if (page.stored !== null) return 'inspection'
  return page.renders.length === 0 ? 'render' : null
}

/** The outcome of the last render, if it stored nothing. */
function failureOf({ stored, redirect, renders: [last] }: PageInspection): string | null {
  if (stored !== null || redirect !== null || last === undefined) return null
  return outcomeWords(last.outcome)
}

function isShown(page: PageInspection | undefined): boolean {
  if (page === undefined) return false
  const { inspection } = page
  return (
    (inspection !== null && !isUnderWay(inspection)) || failureOf(page) !== null || page.redirect !== null
  )
}
