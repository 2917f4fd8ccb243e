import { Button, Group } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { RANGES, type Range, rangeNamed } from '../../api/traffic-range.ts'
import { Choice } from './choice.tsx'

/** The range that the address names, and a way to another one. */
export function useRange(): [Range, (name: Range['name']) => void] {
  const [params, setParams] = useSearchParams()
  const choose = (name: Range['name']) => setParams({ range: name }, { replace: true })
  return [rangeNamed(params.get('range')), choose]
}

export function TrafficHead(props: { range: Range; onChoose: (name: Range['name']) => void; csv: string }) {
  return (
    <Group justify="space-between" gap="sm">
      <Choice label="Range" options={RANGES} chosen={props.range.name} onChoose={props.onChoose} />
      <CsvButton href={props.csv} label="Download the counts as CSV" />
    </Group>
  )
}

/** Fetched by the browser itself, with the cookie of the session, into a file. */
export function CsvButton({ href, label }: { href: string; label: string }) {
  return (
    <Button component="a" href={href} download variant="default" size="xs" aria-label={label}>
      CSV
    </Button>
  )
}
