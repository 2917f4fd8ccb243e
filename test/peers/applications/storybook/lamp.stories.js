export default {
  title: 'Lamp',
  args: { label: 'A brass lamp' },
  render: ({ label }) => `<button>${label} that shines</button>`,
}
export const Lit = {}
export const Dark = { args: { label: 'An unlit lamp' } }
