// The director.

const director = { isOpen: false, isNew: () => false, open() {}, close() {}, draw() {}, takes: () => false };
