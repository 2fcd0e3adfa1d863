(function_definition name: (identifier) @name) @function
(class_definition name: (identifier) @name) @class
(call function: (identifier) @call)
(call function: (attribute attribute: (identifier) @call))
