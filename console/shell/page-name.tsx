import { useWords, type Words } from '../language.ts'

export const PageName = ({ name }: { name: Words<string> }) => <span>{useWords(name)}</span>
