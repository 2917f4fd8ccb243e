// biome-ignore-all lint/a11y/noNoninteractiveTabindex: boxes that scroll must be reachable by keyboard.
import { Alert, Button, Group, Stack, Text, Textarea, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { ruleTryQuery, ruleTryUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, RuleTry } from '../../api/types.ts'
import { categoryLabel } from '../../crawler-categories.ts'
import { DEVICES } from '../../devices.ts'
import { capitalised, counted, milliseconds } from '../../format.ts'
import { OutcomeBadge } from '../../parts/badges.tsx'
import { Lines } from '../../parts/lines.tsx'
import { Note } from '../../parts/page.tsx'
import { useSeekError } from '../../parts/seek-error.ts'
import { Refusal, Trouble } from '../../parts/states.tsx'
import { textDifference } from '../page/differences.ts'
import classes from '../page/inspection.module.css'
import type { SectionProps } from './form-page.tsx'
import { freshnessChanges, ruleAt } from './freshness-change.ts'
import { shownProblem } from './problems.ts'
import { lines, type Rule, ruleOf, type SettingsForm } from './values.ts'

type TriedPage = RuleTry['pages'][number]
type TriedDifference = TriedPage['differences'][number]

/** Renders pages under the rules of the form, before they are saved. */
export function TryRules({ form, domain }: SectionProps) {
  const name = domain.custom_domain
  const [paths, setPaths] = useState('')
  const seekError = useSeekError()
  const ask = useMutation({
    mutationFn: (tried: readonly Rule[]) => {
      const wanted = lines(paths)
      // Without paths, the server takes those that crawlers asked for most.
      const body = { rules: tried, paths: wanted.length === 0 ? undefined : wanted }
      return request<{ id: string }>('POST', ruleTryUrl(name), { body })
    },
    onError: (error) => {
      for (const { field, text } of ruleProblems(error, form.values)) form.setFieldError(field, text)
      seekError()
    },
  })
  const start = () => {
    const { errors } = form.validate()
    if (Object.keys(errors).some((field) => field.startsWith('rules.'))) seekError()
    else ask.mutate(form.values.rules.map(ruleOf))
  }
  const isAtFields = ruleProblems(ask.error, form.values).length > 0
  return (
    <Stack gap="sm">
      <Textarea
        className="form"
        label="Try on these pages"
        description="One path per line, at most 20. Empty: those that crawlers asked for most. Nothing is saved or counted."
        autosize
        minRows={1}
        spellCheck={false}
        value={paths}
        onChange={(event) => setPaths(event.currentTarget.value)}
      />
      <Group>
        <Button variant="default" size="xs" loading={ask.isPending} onClick={start}>
          Try these rules
        </Button>
      </Group>
      {!isAtFields && <Refusal error={ask.error} />}
      {ask.data !== undefined && (
        <Tried key={ask.data.id} domain={domain} id={ask.data.id} rules={ask.variables} />
      )}
    </Stack>
  )
}

/** The problems of the rules, where the form shows them. */
function ruleProblems(error: unknown, values: SettingsForm) {
  const problems = error instanceof ApiError ? error.problems : []
  return problems.flatMap(
    ({ path, message }) => shownProblem({ path: ['settings', ...path], message }, values, 'paths') ?? [],
  )
}

/** `rules`: what is tried. */
function Tried(props: { domain: DomainWithSettings; id: string; rules: readonly Rule[] }) {
  const { domain, id, rules } = props
  const name = domain.custom_domain
  const { settings } = domain
  const found = useQuery(ruleTryQuery(name, id))
  if (found.data === undefined) return found.error === null ? null : <Trouble query={found} />
  const { state, pages } = found.data
  const freshnessOf = ({ rule_before: before, rule_after: after }: TriedPage) =>
    freshnessChanges(ruleAt(settings.rules, before), ruleAt(rules, after), settings)
  const ended = pages.filter(({ outcome }) => outcome !== null)
  const differing = ended.filter((page) => page.differences.length > 0 || freshnessOf(page).length > 0)
  return (
    <section aria-label="What the rules change">
      <Stack gap="md">
        <Note size="sm" role="status">
          {state === 'done'
            ? `Rendered ${counted(pages.length, 'page')}: ${differing.length} differ.`
            : `Rendering: ${ended.length} of ${counted(pages.length, 'page')} …`}
        </Note>
        {pages.map((page, place) =>
          page.outcome === null ? null : (
            <PageTried
              key={page.path}
              page={page}
              freshness={freshnessOf(page)}
              url={`${ruleTryUrl(name)}/${id}/${place}`}
            />
          ),
        )}
      </Stack>
    </section>
  )
}

function PageTried(props: { page: TriedPage; freshness: readonly string[]; url: string }) {
  const { page, freshness, url } = props
  const { path, category, variant, ms, differences, pictures } = page
  return (
    <Stack gap="xs">
      <Group gap="sm">
        <Title order={3} size="h5" className="break">
          {path}
        </Title>
        <OutcomeBadge outcome={shownOutcome(page)} />
        <Note size="sm">
          {categoryLabel(category)}, {DEVICES[variant]}: {rulesText(page)}
          {ms !== null && ` Rendered in ${milliseconds(ms)}.`}
        </Note>
      </Group>
      {differences.length === 0 && (
        <Text size="sm">Crawlers get the same {freshness.length === 0 ? '' : 'page '}as now.</Text>
      )}
      {freshness.map((change) => (
        <Text key={change} size="sm">
          {change}
        </Text>
      ))}
      {pictures.length > 0 && (
        <div className={classes.sides}>
          {pictures.map((side) => (
            <Picture key={side} name={`${path} ${side}`} when={side} src={`${url}/${side}`} />
          ))}
        </div>
      )}
      {differences.map((difference) => (
        <Difference key={difference.of} difference={difference} />
      ))}
    </Stack>
  )
}

/** A page that would be answered as not found is no failure of the rule. */
function shownOutcome({ outcome }: TriedPage): string {
  return outcome === 'soft-404' ? 'Now: not found' : (outcome ?? '')
}

function rulesText({ rule_before: before, rule_after: after }: TriedPage): string {
  if (before === after) return `${capitalised(ruleName(after))}.`
  return `Before: ${ruleName(before)}. After: ${ruleName(after)}.`
}

function ruleName(rule: number | null): string {
  return rule === null ? 'no rule' : `rule ${rule + 1}`
}

function Picture({ name, when, src }: { name: string; when: string; src: string }) {
  return (
    <figure className={classes.side}>
      <figcaption>{capitalised(when)}</figcaption>
      <section className={classes.frame} tabIndex={0} aria-label={`Picture of ${name}`}>
        <img className={classes.picture} src={src} alt={name} />
      </section>
    </figure>
  )
}

const NAMES: Record<TriedDifference['of'], string> = {
  outcome: 'Outcome',
  status: 'Status',
  head: 'Head',
  text: 'Text',
  headers: 'Headers',
  html_bytes: 'Size in bytes',
  requests: 'Requests of the page',
}

function Difference({ difference: { of: part, before, after } }: { difference: TriedDifference }) {
  const stretches = textDifference(linesOf(before), linesOf(after))
  const name = NAMES[part]
  if (stretches === null) return <Alert color="yellow">{name}: too different to compare line by line.</Alert>
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500}>
        {name}
      </Text>
      <div className={classes.sides}>
        <Lines
          stretches={stretches.filter(({ kind }) => kind !== 'added')}
          names={['Before', `${name} before`]}
        />
        <Lines
          stretches={stretches.filter(({ kind }) => kind !== 'removed')}
          names={[`${name} after`, 'After']}
        />
      </div>
    </Stack>
  )
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n')
}
